package apply

import (
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/placing"
	"github.com/muster-run/muster/planner/place"
)

// nextCandidate is the approved place that comes after the one that did not
// take a flight, nil if there is none.
func (e *engine) nextCandidate(f *flight, why string) *place.Decision {
	d := f.where
	if d == nil || f.smoke {
		return nil
	}
	for c := range placing.After(d) {
		if e.takes(f.p, f.cell, c, d) {
			return placing.To(d, c, why)
		}
	}
	return nil
}

// takes reports whether a candidate could have a cell now. What was tried in
// a smoke is tried for its environment alone; a cell that overflows has left it
// with the plan, and may come back.
func (e *engine) takes(p *phase, cell int32, c *place.Candidate, d *place.Decision) bool {
	if !c.Fits || e.fleet.Contacts[c.Backend] == nil || e.fleet.At(c.Backend, c.Pool).Away() {
		return false
	}
	there := e.fleet.Environment(c.Backend, c.Pool, d.Shape)
	return p.Smoke == nil || there == e.environment(p, cell) || there == e.fleet.Environment(d.Backend, d.Pool, d.Shape)
}

// evade re-places a cell whose backend cannot be asked, if another approved
// one can. Nothing of it was handed over, so it runs once.
func (e *engine) evade(p *phase, cell int32, d *place.Decision) bool {
	for c := range placing.Others(d) {
		if !e.takes(p, cell, c, d) {
			continue
		}
		from := e.fleet.At(d.Backend, d.Pool).Title()
		next := placing.To(d, c, "re-placed: "+from+" cannot be reached")
		e.report.Note(p.Address(int(cell)), p.Address(int(cell))+" goes to "+e.fleet.At(c.Backend, c.Pool).Title()+": "+from+" cannot be reached", false)
		p.places.Move(cell, next)
		p.Set(cell, cells.Pending)
		e.makeReady(p, cell)
		return true
	}
	return false
}

// cheaper re-places a cell that the budgets do not cover where it is planned, if
// they cover it on another approved candidate.
func (e *engine) cheaper(f *flight) bool {
	if f.smoke {
		return false
	}
	why, d := e.budgets.Why, f.where
	for c := range placing.Others(d) {
		if !e.takes(f.p, f.cell, c, d) {
			continue
		}
		there := flight{Flight: fleet.Flight{Addr: f.Addr, N: f.N, First: f.First, B: e.fleet.At(c.Backend, c.Pool), Pool: c.Pool},
			p: f.p, cell: f.cell, plan: f.plan, max: f.max, where: placing.To(d, c, "re-placed: "+why)}
		if e.setAside(&there, nil); !e.afford(&there) {
			continue
		}
		e.budgets.Short, e.budgets.Why = false, ""
		e.report.Note(f.Addr, f.Addr+" goes to "+there.B.Title()+": "+why, false)
		f.p.places.Move(f.cell, there.where)
		f.p.Set(f.cell, cells.Pending)
		e.makeReady(f.p, f.cell)
		return true
	}
	return false
}

// variant is how a flight's job is rendered.
func (f *flight) variant() lang.Variant {
	if f.smoke {
		return lang.SmokeRun
	}
	return lang.Run
}
