package planfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/place"
)

// Reprice gives a saved plan the prices of its places today, as a plan of today found them:
// the approved ceiling counts new launches at their present cost, wherever they go. A place
// that costs more at most than price_tolerance allows is refused by name. One that did not
// answer today keeps its price: without an answer it may have none.
func Reprice(p, today *planner.Plan, policy lang.Policy) (l diag.List) {
	tolerance := decimal.NewFromFloat(1 + policy.PriceTolerance)
	unasked := map[string]bool{}
	for _, b := range today.Backends {
		unasked[b.Name] = b.Problem != ""
	}
	for _, pp := range p.Phases {
		now := today.Phase(pp.Phase.Name)
		if now == nil {
			continue
		}
		offers := asked(now, unasked)
		pp.Placements = slices.Clone(pp.Placements)
		said := map[string]bool{}
		compare := func(was, is place.Decision) {
			if text := dearer(was, is, tolerance); text != "" && !said[is.Where()] {
				said[is.Where()] = true
				l.Append(diag.Diagnostic{Summary: "A price rose since the plan was made", Address: "phase." + pp.Phase.Name,
					Detail: fmt.Sprintf("On %s: %s. That is more than price_tolerance (%s %%) allows; plan again.", is.Where(), text, decimal.NewFromFloat(100*policy.PriceTolerance).Round(1))})
			}
		}
		for i := range pp.Placements {
			d := &pp.Placements[i]
			was := *d
			reprice(d, offers)
			d.After = repriced(d.After, offers)
			compare(was, *d)
		}
		pp.After = slices.Clone(pp.After)
		for r, all := range pp.After {
			pp.After[r] = repriced(all, offers)
			for i, a := range all {
				compare(a.To, pp.After[r][i].To)
			}
		}
		if pp.Smoke != nil {
			g := *pp.Smoke
			reprice(&g.Place, offers)
			pp.Smoke = &g
		}
	}
	return l
}

// asked are the places of a plan of today, by request and place, of the backends that
// answered.
func asked(pp *planner.PhasePlan, unasked map[string]bool) map[string]place.Candidate {
	out := map[string]place.Candidate{}
	add := func(d *place.Decision) {
		for _, c := range d.Candidates {
			if unasked[c.Backend] {
				continue
			}
			out[site(d, c.Backend, c.Pool)] = c
		}
	}
	for i := range pp.Placements {
		add(&pp.Placements[i])
	}
	for _, a := range slices.Concat(pp.After...) {
		add(&a.To)
	}
	if pp.Smoke != nil {
		add(&pp.Smoke.Place)
	}
	return out
}

func site(d *place.Decision, backend, pool string) string {
	return d.Shape.Key() + "\x00" + backend + "\x00" + pool
}

// reprice gives a decision and its candidates today's prices; a place that is not offered
// today keeps its own.
func reprice(d *place.Decision, offers map[string]place.Candidate) {
	if c, ok := offers[site(d, d.Backend, d.Pool)]; ok {
		d.Price, d.WholeNode, d.Wait, d.Boot, d.Hold = c.Price, c.WholeNode, c.Wait, c.Boot, c.Hold
	}
	d.Candidates = slices.Clone(d.Candidates)
	for i := range d.Candidates {
		if c, ok := offers[site(d, d.Candidates[i].Backend, d.Candidates[i].Pool)]; ok {
			o := &d.Candidates[i]
			o.Price, o.WholeNode, o.Wait, o.Boot, o.Hold = c.Price, c.WholeNode, c.Wait, c.Boot, c.Hold
		}
	}
}

// repriced are fallbacks at today's prices.
func repriced(all []place.Fallback, offers map[string]place.Candidate) []place.Fallback {
	all = slices.Clone(all)
	for i := range all {
		reprice(&all[i].To, offers)
	}
	return all
}

// lost says which price is not known any more, "" where each is that was.
func lost(then, now place.Known) string {
	switch {
	case then.USD && !now.USD:
		return "the price is no longer known"
	case then.ServiceUnits && !now.ServiceUnits:
		return "the price in service units is no longer known"
	}
	return ""
}

// dearer is by how much a launch's ceiling rose, "" within the tolerance: an approval at an
// unknown price did not rise. The wait is no price, and is not compared.
func dearer(was, is place.Decision, tolerance decimal.Decimal) string {
	was.Price.Known, is.Price.Known = was.Price.Known || was.Price.BillsWhileQueued, is.Price.Known || is.Price.BillsWhileQueued
	then, before := place.AtMost(was.Shape, was.Price, was.Boot, was.Hold)
	now, today := place.AtMost(is.Shape, is.Price, is.Boot, is.Hold)
	if text := lost(before, today); text != "" {
		return text
	}
	var out []string
	for _, unit := range slices.Sorted(maps.Keys(now)) {
		if before.Of(unit) && now[unit].GreaterThan(then[unit].Mul(tolerance)) {
			out = append(out, fmt.Sprintf("%s of a launch were %s at most and are %s", unit, then[unit], now[unit]))
		}
	}
	return strings.Join(out, ", ")
}
