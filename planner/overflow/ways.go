package overflow

import (
	"fmt"
	"time"

	"github.com/muster-run/muster/planner/place"
)

// A way is one division of all jobs of a case over its two places, whatever
// the budgets leave.
type way struct {
	words string // "all on slurm.alpine aa100"
	bill  bill   // at most, one launch each
	end   time.Duration
}

// here is all of them on the first place.
func (c Case) here() way { return c.all(c.First, c.At.End(c.Jobs+c.Flying)) }

// there is all of them on the second.
func (c Case) there() way { return c.all(c.Second, c.There.End(c.Jobs)) }

func (c Case) all(d place.Decision, end time.Duration) way {
	return way{"all on " + d.Where(), bill{}.plus(d, c.Jobs), end}
}

// cheapest is the place that takes all of them for less; the first where
// neither is known to.
func (c Case) cheapest() way {
	first, second := c.here(), c.there()
	if second.bill.under(first.bill) {
		return second
	}
	return first
}

// fastest is what ends them soonest: all of them on the second place, or, where
// both together are sooner, as few there as it takes.
func (c Case) fastest(at, there Queue) way {
	best := c.there()
	for k := range c.Free + 1 {
		if end := max(at.End(c.Jobs-k+c.Flying), there.End(k)); end < best.end {
			best = way{fmt.Sprintf("%d on %s and %d on %s", k, c.Second.Where(), c.Jobs-k, c.First.Where()), bill{}.plus(c.Second, k).plus(c.First, c.Jobs-k), end}
		}
	}
	return best
}
