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

// unchain takes back what was handed over to come after a job that failed:
// its queue would keep it for ever.
func (e *engine) unchain(p *phase, cell int32) {
	late := false
	for to, c := range p.Behind(cell) {
		if at := to.At[c]; at != cells.Queued && at != cells.Submitting && at != cells.Unknown || to.Waits[c] == 0 {
			continue
		}
		if f := e.byJob[e.phases[to.Ord].Address(int(c))]; f != nil && f.End == fleet.Stays {
			if f.Status == cells.Unknown {
				f.bereft = true
				continue
			}
			f.EndAs(fleet.Behind)
			late = true
		}
	}
	if p.Gate.Pilots[cell] {
		e.behindPilots(p)
	}
	if late && e.fleet.Unanswered == 0 {
		e.fleet.Cancel()
	}
}

// behindSmoke takes back what was handed over to come after a smoke.
func (e *engine) behindSmoke(p *phase, cell int32) {
	e.takeBack(p, func(f *flight) bool { return !f.smoke || f.cell > cell && !p.Smoke.Parallel })
}

// behindPilots takes back what was handed over to come after the pilots.
func (e *engine) behindPilots(p *phase) {
	e.takeBack(p, func(f *flight) bool { return !f.smoke && !p.Gate.Pilots[f.cell] })
}

// takeBack takes what has not started of a phase out of its queues.
func (e *engine) takeBack(p *phase, which func(*flight) bool) {
	n := 0
	for _, f := range e.flights {
		if f.p != p || f.End != fleet.Stays || !which(f) {
			continue
		}
		switch f.Status {
		case cells.Queued, cells.Submitting:
			f.End = fleet.Behind
			n++
		case cells.Unknown:
			f.bereft = true
		}
	}
	if n > 0 && e.fleet.Unanswered == 0 {
		e.fleet.Cancel()
	}
}

// backInQueue takes back what turns out to wait in its queue for something that
// failed while nobody could say where it was itself.
func (e *engine) backInQueue(f *flight) {
	if !f.bereft || f.End != fleet.Stays {
		return
	}
	f.EndAs(fleet.Behind)
	if e.fleet.Unanswered == 0 {
		e.fleet.Cancel()
	}
}

// completed tells the cells that wait for this one.
func (e *engine) completed(p *phase, cell int32) {
	if !e.freight.Together() {
		for _, ed := range p.edges {
			e.carryAhead(ed, cell)
		}
	}
	p.Complete(cell, func(to *cells.Node, c int32) { e.makeReady(e.phases[to.Ord], c) })
}
