package page

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
)

// A billing is the rate at which running jobs are billed on one pool. Rates
// are those set aside for them: their ceiling over their walltime.
type billing struct {
	Backend string        `json:"backend"`
	Pool    string        `json:"pool,omitempty"`
	Jobs    int           `json:"jobs"`
	Since   time.Time     `json:"since"`              // when the first of them started
	PerHour state.Amounts `json:"per_hour,omitempty"` // of all of them
	SoFar   state.Amounts `json:"so_far,omitempty"`   // since each started
	AtMost  state.Amounts `json:"at_most,omitempty"`  // at their ceiling
	Unsaid  int           `json:"unknown,omitempty"`  // jobs without a walltime: their rate is not known
}

// billingNow groups running jobs by backend and pool, the first to start
// first.
func billingNow(c *lang.Campaign, st *state.State, now time.Time) []billing {
	by, rents := map[[2]string]*billing{}, map[string]bool{}
	for _, r := range st.Rentals {
		rents[r.Backend] = rents[r.Backend] || r.Rented()
	}
	for _, j := range st.InFlight() {
		at := j.Last()
		if at == nil || at.Started.IsZero() || !at.Ended.IsZero() {
			continue
		}
		key := [2]string{at.Backend, at.Pool}
		b := by[key]
		if b == nil {
			b = &billing{Backend: at.Backend, Pool: at.Pool, Since: at.Started, PerHour: state.Amounts{}, SoFar: state.Amounts{}, AtMost: state.Amounts{}}
			by[key] = b
		}
		b.Jobs++
		if at.Started.Before(b.Since) {
			b.Since = at.Started
		}
		b.add(at, walltimeOf(c, j), now, rents[at.Backend])
	}
	out := []billing{}
	for _, b := range by {
		out = append(out, *b)
	}
	slices.SortFunc(out, func(a, b billing) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Backend+"\x00"+a.Pool, b.Backend+"\x00"+b.Pool))
	})
	return out
}

// add counts one job in. Where machines are rented they are billed, and their jobs are not.
func (b *billing) add(at *state.Attempt, walltime time.Duration, now time.Time, rented bool) {
	if walltime <= 0 {
		b.Unsaid++
		return
	}
	b.AtMost.Add(at.Ceiling)
	hours := decimal.NewFromFloat(walltime.Hours())
	ran := decimal.NewFromFloat(max(now.Sub(at.Started), 0).Hours())
	for unit, text := range at.Ceiling {
		if rented && unit == place.USD {
			continue
		}
		rate := amount.Of(text).DivRound(hours, 6)
		b.PerHour.Add(state.Amounts{unit: rate.String()})
		b.SoFar.Add(state.Amounts{unit: decimal.Min(rate.Mul(ran), amount.Of(text)).Round(6).String()})
	}
}

// rateText is the price of an hour: "$0.70/h, 2 GPUs".
func rateText(perHour state.Amounts, asked []string) string {
	var parts []string
	for _, u := range []struct{ unit, one, many string }{
		{"usd", "/h", "/h"}, {"service_units", "/h", "/h"}, {"gpu_hours", " GPU", " GPUs"}, {"cpu_hours", " core", " cores"}, {"node_hours", " node", " nodes"},
	} {
		d := amount.Of(perHour[u.unit]).Round(2)
		switch {
		case d.IsZero() || u.unit == "node_hours" && !slices.Contains(asked, u.unit):
		case u.unit == "usd" || u.unit == "service_units":
			parts = append(parts, amount.Words(u.unit, d.String())+u.one)
		case d.Equal(decimal.NewFromInt(1)):
			parts = append(parts, d.String()+u.one)
		default:
			parts = append(parts, d.String()+u.many)
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing")
}

// walltimeOf is the walltime that a job's last attempt was given; 0 = not known.
func walltimeOf(c *lang.Campaign, j *state.Job) time.Duration {
	if d, err := time.ParseDuration(j.Last().Scaled["walltime"]); err == nil && d > 0 {
		return d
	}
	a, err := addr.Parse(j.Address)
	if err != nil {
		return 0
	}
	v := lang.Run
	if j.Smoke {
		v = lang.SmokeRun
	}
	for _, p := range c.Phases {
		if cell, ok := p.Index(a.Key); ok && p.Name == a.Phase {
			return p.Requests(v)[p.RequestOf(cell, v)].Shape.Walltime
		}
	}
	return 0
}
