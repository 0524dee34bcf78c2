package place

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
)

// A criterion compares two options, negative when the first is better, and
// says of one that lost by it why.
type criterion struct {
	compare func(a, b option) int
	lost    func(o, best option) string
}

// A ranking is criteria in the order in which they count.
type ranking []criterion

var (
	cheapest = criterion{byCost, dearer}
	soonest  = criterion{byWait, func(o, _ option) string { return "starts later: about " + units.ShortDuration(o.wait) }}
	atOnce   = criterion{func(a, b option) int { return cmp.Compare(a.waves, b.waves) }, func(o, _ option) string {
		return fmt.Sprintf("runs %s at once: %d times one after another", units.Count(o.limits.On(o.pool).MostJobs(o.shape), "job"), o.waves)
	}}
	patient = criterion{func(a, b option) int { return cmp.Compare(b2i(jammed(a)), b2i(jammed(b))) }, func(o, _ option) string {
		return fmt.Sprintf("jobs wait about %s there, longer than its max_wait of %s", units.ShortDuration(o.wait), units.ShortDuration(o.pool.MaxWait))
	}}
	free      = criterion{func(a, b option) int { return cmp.Compare(b2i(crowded(a)), b2i(crowded(b))) }, saying("nothing is free there now, and when it would start is not known")}
	asWritten = criterion{func(a, b option) int { return cmp.Compare(a.order, b.order) }, saying("is later in candidates")}
	sparing   = criterion{func(a, b option) int { return cmp.Compare(idles(a), idles(b)) }, saying("would idle its GPUs")}
	owned     = criterion{func(a, b option) int { return cmp.Compare(b2i(a.rental), b2i(b.rental)) }, saying("is rented; the production pool comes first")}
	rented    = criterion{func(a, b option) int { return cmp.Compare(b2i(b.rental), b2i(a.rental)) }, saying("is not rented, and the work is urgent or the queue long")}
	forTests  = criterion{func(a, b option) int { return cmp.Compare(b2i(b.pool.Testing), b2i(a.pool.Testing)) }, saying("is a production pool; there is one for tests")}
	surest    = criterion{func(a, b option) int { return cmp.Compare(b2i(a.wait < 0), b2i(b.wait < 0)) }, saying("when it would start there is not known")}
	byRank    = criterion{func(a, b option) int {
		if a.pool.Backend != b.pool.Backend {
			return 0
		}
		return cmp.Compare(a.pool.Rank, b.pool.Rank)
	}, saying("is as good; its backend names the other first")}
	byName = criterion{func(a, b option) int {
		return strings.Compare(a.pool.Backend+"\x00"+a.pool.Name, b.pool.Backend+"\x00"+b.pool.Name)
	}, saying("is as good; the first by name was taken")}
)

func saying(s string) func(o, best option) string { return func(o, best option) string { return s } }

// order is the ranking of a rule. A pool with a longer wait than its max_wait comes after
// the others. Ties end by cost, then wait, then how many jobs
// may run at once, then the order written, then whether the wait is known, then the order in which a backend
// names its pools, then name, so that the same plan comes out every time.
func (in Input) order(use string, pressed bool) ranking {
	switch use {
	case useOrder:
		return ranking{asWritten, patient, sparing, cheapest, free, soonest, atOnce, forTests, surest, byRank, byName}
	case useSoonest:
		return ranking{patient, sparing, free, soonest, atOnce, cheapest, asWritten, forTests, surest, byRank, byName}
	case useRentalIfPressed:
		if pressed {
			return ranking{rented, patient, sparing, free, soonestUnlessRented, cheapest, soonest, atOnce, asWritten, forTests, surest, byRank, byName}
		}
		return ranking{owned, patient, sparing, cheapest, free, soonest, atOnce, asWritten, forTests, surest, byRank, byName}
	case useProduction:
		return ranking{owned, patient, sparing, cheapest, free, soonest, atOnce, asWritten, forTests, surest, byRank, byName}
	case useCheapest, useCheapestSoonest:
		return ranking{patient, sparing, cheapest, free, soonest, atOnce, asWritten, forTests, surest, byRank, byName}
	}
	return ranking{named(use), patient, sparing, cheapest, free, soonest, atOnce, asWritten, forTests, surest, byRank, byName}
}

// soonestUnlessRented ranks pools with a queue by their wait: rentals start
// soon whatever they cost, so among them the price decides.
var soonestUnlessRented = criterion{func(a, b option) int {
	if a.rental && b.rental {
		return 0
	}
	return byWait(a, b)
}, soonest.lost}

// named prefers the backend that a rule names; "local" is the local type.
func named(name string) criterion {
	rank := func(o option) int {
		return b2i(o.pool.Backend != name && !(name == useLocal && isLocal(o.pool.Backend)))
	}
	return criterion{func(a, b option) int { return cmp.Compare(rank(a), rank(b)) }, saying("the rule names another")}
}

func isLocal(backend string) bool { return strings.HasPrefix(backend, "local.") }

func (r ranking) compare(a, b option) int {
	for _, c := range r {
		if n := c.compare(a, b); n != 0 {
			return n
		}
	}
	return 0
}

func (r ranking) best(of []option) option { return slices.MinFunc(of, r.compare) }

// lost says by which criterion an option lost.
func (r ranking) lost(o, best option) string {
	for _, c := range r {
		if c.compare(o, best) > 0 {
			return c.lost(o, best)
		}
	}
	return ""
}

// idles ranks pools that would idle GPUs beside CPU work last. On a machine
// of one's own the GPUs stay free for other jobs.
func idles(o option) int {
	return b2i(o.cpuOnly && o.pool.GPUs > 0 && !o.pool.OneMachine())
}

// byCost ranks by money first, and then by service units: in each, known costs before unknown
// ones.
func byCost(a, b option) int {
	for _, unit := range []string{USD, ServiceUnits} {
		if x, y := a.known.Of(unit), b.known.Of(unit); x != y {
			return cmp.Compare(b2i(y), b2i(x))
		}
		if c := a.cost[unit].Cmp(b.cost[unit]); c != 0 {
			return c
		}
	}
	return 0
}

// dearer is why the dearer of two options lost.
func dearer(o, best option) string {
	switch {
	case !o.known.USD:
		return "its price is not known"
	case o.cost[USD].Equal(best.cost[USD]) && !o.known.ServiceUnits:
		return "its price in service units is not known"
	}
	return "costs more"
}

// jammed reports whether the wait at a pool is longer than its backend accepts.
func jammed(o option) bool { return o.pool.MaxWait > 0 && o.wait > o.pool.MaxWait }

// crowded reports whether a pool has nothing free and no known time when it will: an unknown
// wait counts as none, but not where there is a queue.
func crowded(o option) bool { return o.wait < 0 && o.pool.Total > 0 && o.pool.Idle == 0 }

// byWait compares waits in whole minutes: schedulers look at their queues every 30 to 60 s
// (Slurm's sched_interval), so waits that differ by seconds say nothing about the next one.
func byWait(a, b option) int {
	return cmp.Compare(a.counted()/time.Minute, b.counted()/time.Minute)
}

// counted takes an unknown wait as none, which the plan says, or as that of the pools
// of its backend where jobs have waited: nobody knows that it is shorter.
func (o option) counted() time.Duration {
	if o.wait < 0 {
		return o.others
	}
	return o.wait
}

// seen tells pools with an unknown wait how long jobs have waited at least in others
// of their backend.
func seen(options []option) {
	least := time.Duration(-1)
	for _, o := range options {
		if o.waited && (least < 0 || o.wait < least) {
			least = o.wait
		}
	}
	for i := range options {
		options[i].others = max(least, 0)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
