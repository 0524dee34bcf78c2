package overflow

import (
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/place"
)

// Note says what overflows, what ended it, and what either place alone would
// cost and take; or why nothing does.
func (s Spill) Note() string {
	if s.N == 0 {
		return fmt.Sprintf("phase.%s does not overflow: %s.", s.phase, strings.TrimSuffix(s.Not, "."))
	}
	text := fmt.Sprintf("phase.%s: %d of %s overflow to %s, for at most %s: about %s", s.phase, s.N, amount.Jobs(s.of), s.to, s.cost, units.ShortDuration(s.end))
	if s.bound != "" {
		text += "; " + s.bound
	}
	if s.tried != "" {
		text += fmt.Sprintf("; none of them starts before its smoke has passed on %s, and none is tried on %s", s.tried, s.to)
	}
	return fmt.Sprintf("%s. Cheapest: all on %s, at most %s, about %s. Fastest: all on %s, at most %s, about %s.",
		text, s.from, s.first, units.ShortDuration(s.alone), s.to, s.whole, units.ShortDuration(s.all))
}

// inAll is what so many launches may be charged on a place, in words.
func inAll(d place.Decision, jobs int) string {
	cost, known := place.AtMost(d.Shape, d.Price, d.WholeNode, d.Around(), d.Hold)
	if !known {
		return "a price that is not known"
	}
	var parts []string
	for _, unit := range []string{place.USD, place.ServiceUnits} {
		if c := cost[unit]; !c.IsZero() {
			parts = append(parts, amount.Words(unit, c.Mul(decimal.NewFromInt(int64(jobs))).String()))
		}
	}
	if len(parts) == 0 {
		return "$0"
	}
	return strings.Join(parts, " and ")
}
