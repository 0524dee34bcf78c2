package apply

import (
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/ledger"
	"github.com/muster-run/muster/planner/place"
)

// placement finds another approved place for a cell that cannot start where the
// plan puts it.
type placement struct {
	*jobs
	accounts *accounts
	schedule *schedule
}

// nextCandidate is the approved place that comes after the one that did not
// take an attempt, and where every account covers it; nil if there is none.
func (pl *placement) nextCandidate(f *attempt, why string) *place.Decision {
	d := f.where
	if d == nil || f.smoke {
		return nil
	}
	for c := range laterCandidates(d) {
		if next := decisionFor(d, c, why); pl.takes(f.p, f.cell, c, d) && pl.coveredAt(f, next) {
			return next
		}
	}
	return nil
}

// leave has an attempt's cell go where its policy says after a failure with a class,
// and says where; "" where it stays.
func (pl *placement) leave(f *attempt, class string) string {
	name, ok := f.p.Retry.Leaves(class, f.B.Name)
	if !ok {
		return ""
	}
	next := f.p.places.after(f.cell, name)
	f.p.places.Move(f.cell, next)
	if next.Backend == "" {
		return ", where the next plan places it"
	}
	return " on " + next.Where()
}

// takes reports whether a candidate could have a cell now. A smoke proves its environment
// alone; a cell that overflows left it with the plan, and may come back.
func (pl *placement) takes(p *phase, cell int32, c *place.Candidate, d *place.Decision) bool {
	if !c.Fits || pl.backends.Contacts[c.Backend] == nil || pl.backends.At(c.Backend, c.Pool).Away() {
		return false
	}
	there := pl.backends.Environment(c.Backend, c.Pool, d.Shape)
	return p.Smoke == nil || there == pl.environment(p, cell) || there == pl.backends.Environment(d.Backend, d.Pool, d.Shape)
}

// evade re-places a cell whose backend cannot be asked, if another approved one
// can. Nothing of it was submitted, so it runs once.
func (pl *placement) evade(p *phase, cell int32, d *place.Decision) bool {
	f := &attempt{Attempt: backends.Attempt{Key: p.Address(int(cell)), Addr: p.Address(int(cell))}, p: p, cell: cell, where: d, plan: pl.approval}
	f.B, f.Pool = pl.backends.At(d.Backend, d.Pool), d.Pool
	pl.number(f)
	return pl.elsewhere(f, pl.backends.At(d.Backend, d.Pool).Title()+" cannot be reached")
}

// cheaper re-places a cell that the budgets do not cover where it is planned, if
// they cover it on another approved candidate.
func (pl *placement) cheaper(f *attempt) bool {
	if f.smoke || !pl.elsewhere(f, pl.accounts.budgets.Why) {
		return false
	}
	pl.accounts.budgets.Short, pl.accounts.budgets.Why = false, ""
	return true
}

// elsewhere has an attempt's cell go to the first of the other approved candidates
// that could have it now and where every account covers it.
func (pl *placement) elsewhere(f *attempt, why string) bool {
	for c := range otherCandidates(f.where) {
		next := decisionFor(f.where, c, "re-placed: "+why)
		if !pl.takes(f.p, f.cell, c, f.where) || !pl.coveredAt(f, next) {
			continue
		}
		pl.Note(f.Addr, f.Addr+" goes to "+pl.backends.At(c.Backend, c.Pool).Title()+": "+why, false)
		f.p.places.Move(f.cell, next)
		f.p.Set(f.cell, cells.Pending)
		pl.schedule.makeReady(f.p, f.cell)
		f.p.again = true
		return true
	}
	return false
}

// coveredAt reports whether every account would cover an attempt at another place, without its
// present reservation.
func (pl *placement) coveredAt(f *attempt, at *place.Decision) bool {
	there := attempt{Attempt: backends.Attempt{Addr: f.Addr, N: f.N, First: f.First, B: pl.backends.At(at.Backend, at.Pool), Pool: at.Pool},
		p: f.p, cell: f.cell, plan: f.plan, max: f.max, where: at}
	if !f.smoke {
		there.max = max(there.most(), f.N)
	}
	pl.accounts.setAside(&there, nil)
	var here *ledger.Tab
	if pl.attempts[f.Token] == f {
		here = &f.tab
	}
	return pl.accounts.budgets.Fits(&there.tab, here, pl.Clock())
}

// variant is how an attempt's job is rendered.
func (f *attempt) variant() lang.Variant {
	switch {
	case f.canary:
		return lang.CanaryRun
	case f.smoke:
		return lang.SmokeRun
	}
	return lang.Run
}
