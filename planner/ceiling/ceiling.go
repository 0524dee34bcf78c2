package ceiling

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// Ceiling is the dearest candidate's full walltime by unit, over all launches,
// each as large as retries may make it, and in which units it is known of all of
// them. A unit of which it is not known where the job goes is left out.
func Ceiling(d place.Decision, r lang.Retry, pools []offer.Pool) (map[string]decimal.Decimal, place.Known) {
	out := map[string]decimal.Decimal{}
	if d.Backend == "" {
		return out, place.Known{}
	}
	take := func(backend, pool string, p offer.Price, segments int, around, hold time.Duration) (all place.Known) {
		there := Pool(pools, backend, pool)
		shapes := every(d.Shape, r, segments, there)
		if shapes == nil {
			shapes = alone(slices.Repeat([]offer.Shape{d.Shape}, Most(d.Shape, r, segments, there)))
		}
		sum := map[string]decimal.Decimal{}
		all = place.Known{USD: true, ServiceUnits: true}
		for _, s := range shapes {
			cost, priced := place.AtMost(s, p, around, hold)
			all = all.And(priced)
			for unit, a := range cost {
				sum[unit] = sum[unit].Add(a)
			}
		}
		for unit, a := range sum {
			if a.GreaterThan(out[unit]) {
				out[unit] = a
			}
		}
		return all
	}
	here := take(d.Backend, d.Pool, d.Price, d.Segments, d.Around(), d.Hold)
	known := here
	for _, c := range d.Candidates {
		if c.Fits {
			known = known.And(take(c.Backend, c.Pool, c.Price, c.Segments, c.Around(), c.Hold))
		}
	}
	for _, a := range d.After {
		most, priced := Ceiling(a.To, r, pools)
		known = known.And(priced)
		for unit, v := range most {
			out[unit] = decimal.Max(out[unit], v)
		}
	}
	for unit := range out {
		if !here.Of(unit) {
			delete(out, unit)
		}
	}
	return out, known
}

// Dearer are a decision at the prices of those of its approved candidates that cost
// most, in any of the units that places charge, none where it costs most itself; and
// the places that failures move it to.
func Dearer(d place.Decision) (out []place.Decision) {
	for _, a := range d.After {
		if a.To.Backend != "" {
			out = append(append(out, a.To), Dearer(a.To)...)
		}
	}
	own, _ := place.AtMost(d.Shape, d.Price, d.Around(), d.Hold)
	for _, unit := range []string{place.USD, place.ServiceUnits, place.NodeHours} {
		most, best := own[unit], -1
		for i, c := range d.Candidates {
			if !c.Fits || c.Won {
				continue
			}
			if cost, _ := place.AtMost(d.To(c).Shape, c.Price, c.Around(), c.Hold); cost[unit].GreaterThan(most) {
				most, best = cost[unit], i
			}
		}
		if best < 0 {
			continue
		}
		o := d.To(d.Candidates[best])
		if !slices.ContainsFunc(out, func(x place.Decision) bool { return x.Backend == o.Backend && x.Pool == o.Pool }) {
			out = append(out, o)
		}
	}
	return out
}
