package planner

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/amount"
)

// Note says which jobs overflow, what limits them, and the cost and time of
// either place alone; or why none do.
func (s spillover) Note() string {
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
	return fmt.Sprintf("%s. Cheapest: %s. Fastest: %s.", text, s.cheapest, s.fastest)
}

func (w overflowWay) String() string {
	return fmt.Sprintf("%s, at most %s, about %s", w.words, w.bill, units.ShortDuration(w.end))
}
