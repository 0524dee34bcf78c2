package planner

import (
	"fmt"
	"time"

	"github.com/muster-run/muster/planner/place"
)

// A overflowWay is one division of all jobs of a case over its two places, whatever
// the budgets leave.
type overflowWay struct {
	words string       // "all on slurm.alpine aa100"
	bill  overflowBill // at most, one launch each
	end   time.Duration
}

// here is all of them on the first place.
func (c overflowCase) here() overflowWay { return c.all(c.First, c.At.End(c.Jobs+c.InFlight)) }

// there is all of them on the second.
func (c overflowCase) there() overflowWay { return c.all(c.Second, c.There.End(c.Jobs)) }

func (c overflowCase) all(d place.Decision, end time.Duration) overflowWay {
	return overflowWay{"all on " + d.Where(), overflowBill{}.plus(d, c.Jobs), end}
}

// cheapest is the place that takes all of them for less; the first where
// neither is known to.
func (c overflowCase) cheapest() overflowWay {
	first, second := c.here(), c.there()
	if second.bill.under(first.bill) {
		return second
	}
	return first
}

// fastest is the way that ends them soonest: all of them on the second place,
// or, where both together are sooner, as few there as it takes.
func (c overflowCase) fastest(at, there placeQueue) overflowWay {
	best := c.there()
	for k := range c.Free + 1 {
		if end := max(at.End(c.Jobs-k+c.InFlight), there.End(k)); end < best.end {
			best = overflowWay{fmt.Sprintf("%d on %s and %d on %s", k, c.Second.Where(), c.Jobs-k, c.First.Where()), overflowBill{}.plus(c.Second, k).plus(c.First, c.Jobs-k), end}
		}
	}
	return best
}
