package planner

import (
	"strings"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// JobCeiling is the most one job may cost: every launch at its full walltime
// on the dearest approved candidate. known is false when a price is not known,
// and then money is absent.
func (p *Plan) JobCeiling(phase string, cell int) (amounts state.Amounts, known bool) {
	pp := p.Phase(phase)
	if pp == nil {
		return nil, false
	}
	return text(ceiling(pp.Decision(cell), pp.Phase.Retry, p.pools))
}

// SmokeCeiling is the most one smoke of a phase may cost: it has one launch.
func (p *Plan) SmokeCeiling(phase string) (amounts state.Amounts, known bool) {
	pp := p.Phase(phase)
	if pp == nil || pp.Smoke == nil {
		return nil, false
	}
	return text(ceiling(pp.Smoke.Place, lang.Retry{}, p.pools))
}

// Unbounded names the phases whose jobs start without a walltime: nothing
// bounds what they may take.
func (p *Plan) Unbounded() []string {
	var out []string
	for _, pp := range p.Phases {
		seen := false
		for i, k := range pp.Kind {
			if seen = k.Starts() && pp.Decision(i).Backend != "" && pp.Decision(i).Shape.Walltime == 0; seen {
				break
			}
		}
		if seen {
			out = append(out, "phase."+pp.Phase.Name)
		}
	}
	return out
}

// howToKnow says what would make an unknown cost known.
func (p *Plan) howToKnow() string {
	if names := p.Unbounded(); len(names) > 0 {
		return "write a walltime in resources of " + strings.Join(names[:min(len(names), 5)], ", ")
	}
	return "write a price on the backend"
}

// Phase finds a phase of the plan by name.
func (p *Plan) Phase(name string) *PhasePlan {
	for _, pp := range p.Phases {
		if pp.Phase.Name == name {
			return pp
		}
	}
	return nil
}

// ceiling is the dearest candidate's full walltime by unit, over all launches,
// each as large as retries may make it.
func ceiling(d place.Decision, r lang.Retry, pools []offer.Pool) (map[string]decimal.Decimal, bool) {
	out := map[string]decimal.Decimal{}
	known := true
	if d.Backend == "" {
		return out, false
	}
	take := func(backend, pool string, p offer.Price, wholeNode bool) {
		shapes := Launches(d.Shape, r, poolOf(pools, backend, pool))
		for len(shapes) < max(r.MaxAttempts, 1) {
			shapes = append(shapes, d.Shape)
		}
		sum := map[string]decimal.Decimal{}
		for _, s := range shapes {
			cost, priced := place.Cost(s, p, wholeNode, s.Walltime)
			known = known && priced
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
	take(d.Backend, d.Pool, d.Price, d.WholeNode)
	for _, c := range d.Candidates {
		if c.Fits {
			take(c.Backend, c.Pool, c.Price, c.WholeNode)
		}
	}
	if !known {
		delete(out, place.USD)
	}
	return out, known
}

// dearest is the decision at the price of the dearest approved candidate:
// in money first, then in service units and node-hours. Zero when it is the
// decision itself.
func dearest(d place.Decision) place.Decision {
	best, found := place.Decision{}, false
	most, _ := place.Cost(d.Shape, d.Price, d.WholeNode, d.Shape.Walltime)
	for _, c := range d.Candidates {
		if !c.Fits || c.Won {
			continue
		}
		cost, _ := place.Cost(d.Shape, c.Price, c.WholeNode, d.Shape.Walltime)
		for _, unit := range []string{place.USD, place.ServiceUnits, place.NodeHours} {
			if o := cost[unit].Cmp(most[unit]); o != 0 {
				if o > 0 {
					best, found, most = d, true, cost
					best.Backend, best.Pool, best.Price, best.WholeNode = c.Backend, c.Pool, c.Price, c.WholeNode
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

func text(in map[string]decimal.Decimal, known bool) (state.Amounts, bool) {
	out := make(state.Amounts, len(in))
	for unit, a := range in {
		out[unit] = a.String()
	}
	return out, known
}

// requestOf is a cell's request as a run.
func requestOf(p *lang.Phase, cell int) lang.Request {
	return p.Requests(lang.Run)[p.RequestOf(cell, lang.Run)]
}
