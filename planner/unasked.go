package planner

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/ceiling"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/warnings"
	"github.com/muster-run/muster/providers/offer"
)

// unaskedRentals say what jobs cost at most on backends that rent and that nobody
// asked, from the limits in their blocks, and what ends the bill.
func unaskedRentals(fs *facts, ps phases) (notes []string) {
	for _, b := range fs.in.Campaign.Backends {
		if !b.Rents || !fs.in.Observed.Unasked[b.Address()] {
			continue
		}
		dearest, ok := dearestPool(b)
		if jobs, most, bounded := mostThere(ps, b, dearest); ok && jobs > 0 {
			notes = append(notes, unaskedNote(fs, b, dearest, amount.Jobs(jobs), most, bounded))
			used, pools := [][2]string{{dearest.Backend, dearest.Name}}, []offer.Pool{dearest}
			backends, can := []*lang.Backend{b}, map[string]offer.Capabilities{b.Type: {Rents: b.Rents, DeadMan: b.DeadMan}}
			notes = append(notes, warnings.Idling(backends, used, pools, can)...)
			notes = append(notes, warnings.NoCeiling(backends, used, pools, can)...)
			notes = append(notes, askIt(fs, b))
		}
	}
	return notes
}

func unaskedNote(fs *facts, b *lang.Backend, dearest offer.Pool, jobs string, most decimal.Decimal, bounded bool) string {
	text := fmt.Sprintf("Cost: backend.%s was not asked for prices. It rents no machine over %s (max_usd_per_hour): at that price %s", b.Address(), amount.Hourly(dearest.Price.USDPerHour), jobs)
	if bounded {
		text += " would cost at most " + amount.Words(place.USD, most.String()) + ", slow boots and idle time included"
	} else {
		text += " would cost an unknown sum, since a job has no walltime"
	}
	for _, l := range fs.in.Campaign.Budgets {
		if limit, ok := l.Limits[place.USD]; ok {
			text += fmt.Sprintf("; budget %q ends at %s", l.Name, amount.Words(place.USD, limit))
		}
	}
	return text + "."
}

// askIt is how a plan gets live prices.
func askIt(fs *facts, b *lang.Backend) string {
	if !fs.in.Observed.Refreshed {
		return fmt.Sprintf("Without -refresh=false the plan asks backend.%s for live offers and prices; it rents nothing.", b.Address())
	}
	return fmt.Sprintf("`MUSTER_TRUST=1 muster plan` asks backend.%s for live offers and prices; it rents nothing.", b.Address())
}

// dearestPool is the dearest machine that a backend may rent, as its block limits it;
// false where the block does not.
func dearestPool(b *lang.Backend) (offer.Pool, bool) {
	s := struct {
		Most  json.Number `json:"max_usd_per_hour"`
		GPUs  int         `json:"gpus"`
		Boxes int         `json:"max_boxes"`
	}{GPUs: 1, Boxes: 1}
	if err := json.Unmarshal(b.Config, &s); err != nil || !amount.Of(s.Most.String()).IsPositive() {
		return offer.Pool{}, false
	}
	return offer.Pool{Backend: b.Address(), Kind: offer.RentalPool, GPUs: s.GPUs, Total: s.GPUs * s.Boxes, Price: offer.Price{Known: true, USDPerHour: s.Most.String()}}, true
}

// mostThere counts the held jobs that a backend may get, and what all their launches cost
// at most there; not bounded where a job has no walltime.
func mostThere(ps phases, b *lang.Backend, dearest offer.Pool) (jobs int, most decimal.Decimal, bounded bool) {
	bounded = true
	for _, w := range ps.drafts {
		if !slices.Contains(w.p.Candidates, b.Address()) {
			continue
		}
		counts := make([]int, len(w.reqs))
		for i := range w.pp.Kind {
			if w.pp.Away(i) != "" {
				counts[w.p.RequestOf(i, lang.Run)]++
			}
		}
		for r, n := range counts {
			if n == 0 {
				continue
			}
			shape := w.reqs[r].Shape
			jobs, bounded = jobs+n, bounded && shape.Walltime > 0
			d := place.Decision{Backend: b.Address(), Shape: shape, Price: dearest.Price, Boot: b.Boot, Hold: b.Hold}
			cost, _ := ceiling.Ceiling(d, w.p.Retry, nil)
			most = most.Add(cost[place.USD].Mul(decimal.NewFromInt(int64(n))))
		}
	}
	return jobs, most, bounded
}
