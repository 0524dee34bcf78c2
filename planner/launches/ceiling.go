package launches

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// Ceiling is the dearest candidate's full walltime by unit, over all launches,
// each as large as retries may make it.
func Ceiling(d place.Decision, r lang.Retry, pools []offer.Pool) (map[string]decimal.Decimal, bool) {
	out := map[string]decimal.Decimal{}
	known, waits := true, true
	if d.Backend == "" {
		return out, false
	}
	take := func(backend, pool string, p offer.Price, wholeNode bool, segments int, around, hold time.Duration) {
		shapes := every(d.Shape, r, segments, Pool(pools, backend, pool))
		for len(shapes) < max(r.MaxAttempts, 1) {
			shapes = append(shapes, d.Shape)
		}
		sum := map[string]decimal.Decimal{}
		for _, s := range shapes {
			cost, priced := place.AtMost(s, p, wholeNode, around, hold)
			known, waits = known && priced, waits && (priced || !p.BillsWhileQueued)
			for unit, a := range cost {
				sum[unit] = sum[unit].Add(a)
			}
		}
		for unit, a := range sum {
			if a.GreaterThan(out[unit]) {
				out[unit] = a
			}
		}
	}
	take(d.Backend, d.Pool, d.Price, d.WholeNode, d.Segments, d.Around(), d.Hold)
	for _, c := range d.Candidates {
		if c.Fits {
			take(c.Backend, c.Pool, c.Price, c.WholeNode, c.Segments, c.Around(), c.Hold)
		}
	}
	if !known {
		delete(out, place.USD)
	}
	if !waits {
		delete(out, place.ServiceUnits)
	}
	return out, known
}

// Dearest is the decision at the price of the dearest approved candidate:
// in money first, then in service units and node-hours. Zero when it is the
// decision itself.
func Dearest(d place.Decision) place.Decision {
	best, found := place.Decision{}, false
	most, _ := place.AtMost(d.Shape, d.Price, d.WholeNode, d.Around(), d.Hold)
	for _, c := range d.Candidates {
		if !c.Fits || c.Won {
			continue
		}
		cost, _ := place.AtMost(d.Shape, c.Price, c.WholeNode, c.Around(), c.Hold)
		for _, unit := range []string{place.USD, place.ServiceUnits, place.NodeHours} {
			if o := cost[unit].Cmp(most[unit]); o != 0 {
				if o > 0 {
					best, found, most = d, true, cost
					best.Backend, best.Pool, best.Price, best.WholeNode = c.Backend, c.Pool, c.Price, c.WholeNode
					best.Wait, best.Boot, best.Hold, best.Segments = c.Wait, c.Boot, c.Hold, c.Segments
				}
				break
			}
		}
	}
	if !found {
		return place.Decision{}
	}
	return best
}
