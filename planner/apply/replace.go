package apply

import (
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/ledger"
	"github.com/muster-run/muster/planner/apply/placing"
	"github.com/muster-run/muster/planner/place"
)

// nextCandidate is the approved place that comes after the one that did not
// take a flight, and where every account covers it; nil if there is none.
func (e *engine) nextCandidate(f *flight, why string) *place.Decision {
	d := f.where
	if d == nil || f.smoke {
		return nil
	}
	for c := range placing.After(d) {
		if next := placing.To(d, c, why); e.takes(f.p, f.cell, c, d) && e.coveredAt(f, next) {
			return next
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

// evade re-places a cell whose backend cannot be asked, if another approved one
// can. Nothing of it was handed over, so it runs once.
func (e *engine) evade(p *phase, cell int32, d *place.Decision) bool {
	f := &flight{Flight: fleet.Flight{Key: p.Address(int(cell)), Addr: p.Address(int(cell))}, p: p, cell: cell, where: d, plan: e.approval}
	f.B, f.Pool = e.fleet.At(d.Backend, d.Pool), d.Pool
	e.number(f)
	return e.elsewhere(f, e.fleet.At(d.Backend, d.Pool).Title()+" cannot be reached")
}

// cheaper re-places a cell that the budgets do not cover where it is planned, if
// they cover it on another approved candidate.
func (e *engine) cheaper(f *flight) bool {
	if f.smoke || !e.elsewhere(f, e.budgets.Why) {
		return false
	}
	e.budgets.Short, e.budgets.Why = false, ""
	return true
}

// elsewhere has a flight's cell go to the first of the other approved candidates
// that could have it now and where every account covers it.
func (e *engine) elsewhere(f *flight, why string) bool {
	for c := range placing.Others(f.where) {
		next := placing.To(f.where, c, "re-placed: "+why)
		if !e.takes(f.p, f.cell, c, f.where) || !e.coveredAt(f, next) {
			continue
		}
		e.report.Note(f.Addr, f.Addr+" goes to "+e.fleet.At(c.Backend, c.Pool).Title()+": "+why, false)
		f.p.places.Move(f.cell, next)
		f.p.Set(f.cell, cells.Pending)
		e.makeReady(f.p, f.cell)
		f.p.again = true
		return true
	}
	return false
}

// coveredAt reports whether every account would cover a flight at another place,
// without what is set aside for it where it is.
func (e *engine) coveredAt(f *flight, at *place.Decision) bool {
	there := flight{Flight: fleet.Flight{Addr: f.Addr, N: f.N, First: f.First, B: e.fleet.At(at.Backend, at.Pool), Pool: at.Pool},
		p: f.p, cell: f.cell, plan: f.plan, max: f.max, where: at}
	if !f.smoke {
		there.max = max(there.most(), f.N)
	}
	e.setAside(&there, nil)
	var here *ledger.Tab
	if e.flights[f.Token] == f {
		here = &f.tab
	}
	return e.budgets.Fits(&there.tab, here, e.Clock())
}

// variant is how a flight's job is rendered.
func (f *flight) variant() lang.Variant {
	if f.smoke {
		return lang.SmokeRun
	}
	return lang.Run
}
