package apply

import (
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/freight"
)

// An edge joins a producer phase to the groups of cells that read it.
type edge struct {
	freight.Edge
	from, to *phase
}

func (e *engine) newEdge(in *lang.Input, from, to *phase) *edge {
	groups := cells.NewGroups(in, len(from.At), len(to.At))
	return &edge{Edge: freight.NewEdge(groups, func(late []int32) { e.unpark(to, late) }), from: from, to: to}
}

// arrive tells that a producer's files are verified.
func (e *engine) arrive(ed *edge, producer int32) {
	for _, c := range ed.Groups.Arrive(producer) {
		e.release(ed.to, c)
	}
}

// release takes one of the things a cell waits for away.
func (e *engine) release(p *phase, cell int32) {
	if p.Waits[cell]--; p.Waits[cell] > 0 {
		return
	}
	if p.At[cell] == cells.Pending {
		e.makeReady(p, cell)
	}
}

// unchain takes back what was handed over to come after a job that failed:
// its queue would keep it for ever.
func (e *engine) unchain(p *phase, cell int32) {
	var late []*flight
	take := func(to *phase, c int32) {
		if to.At[c] != cells.Queued && to.At[c] != cells.Submitting {
			return
		}
		if f := e.byJob[to.Address(int(c))]; f != nil && f.End == fleet.Stays && to.Waits[c] > 0 {
			f.End = fleet.Behind
			late = append(late, f)
		}
	}
	for _, ed := range p.edges {
		if g := ed.Group[cell]; g >= 0 {
			for _, c := range ed.Consumers(int(g)) {
				take(ed.to, c)
			}
		}
	}
	for _, d := range p.after {
		for c := range int32(len(d.At)) {
			take(d, c)
		}
	}
	if p.gate.Pilots[cell] {
		e.behindPilots(p)
	}
	if len(late) > 0 && e.fleet.Unanswered == 0 {
		e.fleet.Cancel()
	}
}

// behindSmoke takes back what was handed over to come after a smoke.
func (e *engine) behindSmoke(p *phase, cell int32) {
	e.takeBack(p, func(f *flight) bool { return !f.smoke || f.cell > cell && !p.Smoke.Parallel })
}

// behindPilots takes back what was handed over to come after the pilots.
func (e *engine) behindPilots(p *phase) {
	e.takeBack(p, func(f *flight) bool { return !f.smoke && !p.gate.Pilots[f.cell] })
}

// takeBack takes what has not started of a phase out of its queues.
func (e *engine) takeBack(p *phase, which func(*flight) bool) {
	n := 0
	for _, f := range e.flights {
		if f.p == p && f.End == fleet.Stays && (f.Status == cells.Queued || f.Status == cells.Submitting) && which(f) {
			f.End = fleet.Behind
			n++
		}
	}
	if n > 0 && e.fleet.Unanswered == 0 {
		e.fleet.Cancel()
	}
}

// completed tells the cells that wait for this one.
func (e *engine) completed(p *phase, cell int32) {
	for _, ed := range p.edges {
		if !e.freight.Together() {
			e.carryAhead(ed, cell)
		}
		e.arrive(ed, cell)
	}
	if p.undone--; p.undone > 0 {
		return
	}
	for _, d := range p.after {
		for c := range int32(len(d.Waits)) {
			e.release(d, c)
		}
	}
}
