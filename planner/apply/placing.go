package apply

import (
	"iter"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
)

// places are those of one phase. They cost nothing for cells that go where they
// were planned.
type places struct {
	plan  *planner.PhasePlan
	moved map[int32]*place.Decision // by cell, until the run ends
}

// placesOf is where a plan places the cells of a phase.
func placesOf(p *planner.PhasePlan) places { return places{plan: p} }

// Of is where a cell goes. One that the plan did not place (it was blocked then)
// goes where a like one goes; nil when there is none.
func (p *places) Of(cell int32) *place.Decision {
	if d := p.moved[cell]; d != nil {
		return d
	}
	if int(cell) < len(p.plan.Place) {
		if i := p.plan.Place[cell]; i > 0 && int(i) < len(p.plan.Placements) {
			return &p.plan.Placements[i]
		}
	}
	return p.like(cell)
}

// like is where jobs with a cell's requests go, nil when none starts.
func (p *places) like(cell int32) *place.Decision {
	// The planner places by request, in the order of requests, from 1.
	if i := p.plan.Phase.RequestOf(int(cell), lang.Run) + 1; i < len(p.plan.Placements) && p.plan.Placements[i].Backend != "" {
		return &p.plan.Placements[i]
	}
	return nil
}

// First is where a cell would go without any overflow, nil if nowhere.
func (p *places) First(cell int32) *place.Decision {
	if d := p.like(cell); d != nil {
		return d
	}
	return p.Of(cell)
}

// after is where a cell goes after a failure of this name in its retry policy; without a
// backend where the plan found none.
func (p *places) after(cell int32, name string) *place.Decision {
	from := place.Decision{}
	if r := p.plan.Phase.RequestOf(int(cell), lang.Run); r < len(p.plan.After) {
		from.After = p.plan.After[r]
	}
	next, _ := from.Left(name)
	return &next
}

// leftBefore has a cell go on where failures of its launches moved it.
func (p *phase) leftBefore(cell int32, rec *state.Job) {
	if name := p.Retry.Went(planner.Ended(rec)); name != "" {
		if d := p.places.after(cell, name); d.Backend == rec.Last().Backend {
			p.places.Move(cell, d)
		}
	}
}

// On is the decision for a cell on a backend and pool, any pool if "": the
// cell's own, or that of others in the phase; Of(cell) where there is none.
func (p *places) On(cell int32, backend, pool string) *place.Decision {
	if d := p.Of(cell); d != nil && d.Backend == backend && (pool == "" || d.Pool == pool) {
		return d
	}
	for d := range p.All() {
		if d.Backend == backend && d.Pool == pool {
			return d
		}
	}
	return p.Of(cell)
}

// All are the distinct places that the plan has jobs of the phase go to.
func (p *places) All() iter.Seq[*place.Decision] {
	return func(yield func(*place.Decision) bool) {
		for i := range p.plan.Placements {
			// Index 0 is unused.
			if d := &p.plan.Placements[i]; i > 0 && d.Backend != "" && !yield(d) {
				return
			}
		}
	}
}

// Pools are the pools of All, each after its backend.
func (p *places) Pools() iter.Seq2[string, string] {
	return func(yield func(backend, pool string) bool) {
		for d := range p.All() {
			if !yield(d.Backend, d.Pool) {
				return
			}
		}
	}
}

// Move has a cell go elsewhere than planned.
func (p *places) Move(cell int32, d *place.Decision) {
	if p.moved == nil {
		p.moved = map[int32]*place.Decision{}
	}
	p.moved[cell] = d
}

// Moved reports whether any cell goes elsewhere than planned.
func (p *places) Moved() bool { return len(p.moved) > 0 }

// decisionFor is a decision changed to one of its candidates, and why.
func decisionFor(d *place.Decision, c *place.Candidate, why string) *place.Decision {
	next := d.To(*c)
	next.Why, next.Fallback = why, ""
	return &next
}

// otherCandidates are the candidates of a decision but for the one that was taken, in
// order.
func otherCandidates(d *place.Decision) iter.Seq[*place.Candidate] { return candidatesBut(d, true) }

// laterCandidates are the candidates that come after the one that was taken, in order;
// none where it is not among them.
func laterCandidates(d *place.Decision) iter.Seq[*place.Candidate] { return candidatesBut(d, false) }

func candidatesBut(d *place.Decision, before bool) iter.Seq[*place.Candidate] {
	return func(yield func(*place.Candidate) bool) {
		wanted := before
		for i := range d.Candidates {
			c := &d.Candidates[i]
			if c.Backend == d.Backend && c.Pool == d.Pool {
				wanted = true
				continue
			}
			if wanted && !yield(c) {
				return
			}
		}
	}
}
