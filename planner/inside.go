package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/forecast"
)

// A Room is how far inside a limit of a budget the plan is at p90, spending included.
type Room struct {
	Budget, Unit string
	P90, Limit   decimal.Decimal
}

// Share is the unused part of the limit, in percent, rounded down; negative above it.
func (r Room) Share() int64 {
	switch {
	case !r.Limit.IsPositive() && r.P90.IsPositive():
		return -100
	case !r.Limit.IsPositive():
		return 0
	}
	return r.Limit.Sub(r.P90).Mul(decimal.NewFromInt(100)).Div(r.Limit).Floor().IntPart()
}

// Rooms are those of each budget and unit whose figures are known.
func (p *Plan) Rooms() (out []Room) {
	if !p.Counts.Changes() {
		return nil
	}
	for _, c := range p.Budgets {
		for _, unit := range slices.Sorted(maps.Keys(c.Limits)) {
			l := forecast.LineOf(p.Forecast.ByScope[c.Name], unit)
			if l.Unit == "" || l.P90.Mark == forecast.Unknown {
				continue
			}
			out = append(out, Room{c.Name, unit, amount.Of(c.Spent[unit]).Add(amount.Of(l.P90.Text)), amount.Of(c.Limits[unit])})
		}
	}
	return out
}

// mostRooms is how many limits the sentence names.
const mostRooms = 6

// Inside says in one sentence how far inside each budget the plan is; "" where
// there is none, or nothing is known of it.
func (p *Plan) Inside() string {
	var parts []string
	said := map[string]bool{}
	for _, r := range p.Rooms() {
		side, share := "inside", r.Share()
		if share < 0 {
			side, share = "above", -share
		}
		p90, limit := amount.Apart(r.Unit, r.P90, r.Limit)
		_, unit, _ := strings.Cut(limit, " ") // is said once
		text := fmt.Sprintf("%s of %s: %d%% %s", strings.TrimSuffix(p90, " "+unit), limit, share, side)
		if !said[r.Budget] {
			text += fmt.Sprintf(" budget %q", r.Budget)
		}
		said[r.Budget] = true
		parts = append(parts, text)
	}
	for _, c := range p.Budgets {
		end := p.Now.Add(p.Forecast.Walltime.P90)
		if c.Deadline.IsZero() || !p.Counts.Changes() || p.Forecast.Walltime.Mark == forecast.Unknown {
			continue
		}
		side, left := "before", c.Deadline.Sub(end)
		if left < 0 {
			side, left = "after", -left
		}
		parts = append(parts, fmt.Sprintf("its end is %s %s the deadline of budget %q", units.FormatDuration(left), side, c.Name))
	}
	if len(parts) == 0 {
		return ""
	}
	if n := len(parts) - mostRooms; n > 0 {
		parts = append(parts[:mostRooms], fmt.Sprintf("%d more in -json", n))
	}
	return "p90 is " + strings.Join(parts, "; ") + "."
}
