package apply

import (
	"errors"

	"github.com/muster-run/muster/planner/apply/approval"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/freight"
	"github.com/muster-run/muster/planner/apply/ledger"
	"github.com/muster-run/muster/planner/apply/relaunch"
	"github.com/muster-run/muster/planner/apply/sheet"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// loadBudgets opens an account for every budget, and one for the ceiling of
// the plan.
func (e *engine) loadBudgets() {
	for i := range e.Campaign.Budgets {
		e.budgets.Budget(&e.Campaign.Budgets[i])
	}
	// Of every approval, since a job may be launched again under the one that
	// launched it first.
	for i := range e.st.Approvals {
		e.budgets.Ceiling(e.st.Approvals[i].Plan, e.st.Approvals[i].Ceiling)
	}
	e.budgets.Ceiling(e.approval, e.ceiling(e.approval))
	e.billed = e.budgets.Recall(e.st, e.Plan.Moved())
}

// ceiling is what was approved for a plan.
func (e *engine) ceiling(plan string) state.Amounts {
	if most, ok := approval.Ceiling(e.st, plan); ok {
		return most
	}
	if plan == e.approval {
		return e.Plan.Ceiling
	}
	return nil
}

// openTab tells what a flight's money is spent on, and how it is charged.
func (e *engine) openTab(f *flight) {
	f.tab = ledger.Tab{Item: ledger.Item{Backend: f.B.Name, Plan: f.plan}, Address: f.Key, Token: f.Token, Pool: f.Pool, First: f.First, Paid: f.tab.Paid}
	if f.p != nil {
		f.tab.Phase = f.p.Name
	}
	switch {
	case f.asked == nil && f.where == nil: // how large it is, nobody knows
	case f.charged != nil:
		f.tab.Tariff = f.charged
	case f.where != nil:
		t := ledger.TariffOf(f.where)
		f.tab.Tariff = &t
	}
}

// setAside is what a flight may still cost: as recorded with its attempt, or
// from its placement.
func (e *engine) setAside(f *flight, recorded state.Amounts) {
	e.openTab(f)
	a := ledger.Ask{Where: f.where, Recorded: recorded, Charged: f.charged, Now: f.asked, Before: f.First - 1, Pool: f.B.Pools[f.Pool]}
	if f.tab.Paid < f.N {
		a.Left = 1
	}
	if f.rides() {
		a.Left = max(0, f.max-max(f.tab.Paid, f.First-1))
	}
	if f.where != nil {
		a.Planned = relaunch.Segment(f.where.Shape, f.segments())
	}
	if f.p != nil && f.rides() {
		a.Retry = f.p.Retry
		a.Retry.MaxAttempts = f.max
	}
	f.tab.Dues = e.prices.Dues(a)
}

// afford reports whether a flight fits into every account that counts it.
func (e *engine) afford(f *flight) bool {
	return e.budgets.Afford(f.tab.Item, f.Addr, f.tab.Dues, e.Clock())
}

// bill enters what a launch really cost, once.
func (e *engine) bill(f *flight, o *offer.Observation, n int) *state.Entry {
	if n <= f.tab.Paid || !e.ran(f, o, n) {
		return nil // counted already, or it never ran
	}
	entries := e.budgets.Bill(&f.tab, e.launched(f, o, n), e.Clock())
	last := len(entries) - 1
	for i := range last {
		e.emit(state.Spent{Entry: entries[i]})
	}
	e.warnOfBudgets()
	return &entries[last]
}

// pay enters what files cost that leave a backend which bills them, before they
// go: a move that is cut off has cost something, too. It is refused where no
// budget covers it.
func (e *engine) pay(f freight.Fare) error {
	en, billed := e.fare(f)
	if !billed {
		return nil
	}
	en.Plan, en.At = e.approval, e.Clock()
	if why := e.budgets.Enter(en); why != "" {
		return errors.New(why)
	}
	e.emit(state.Spent{Entry: en})
	e.warnOfBudgets()
	return nil
}

// fare is the entry of a move that is billed and not yet paid.
func (e *engine) fare(f freight.Fare) (en state.Entry, billed bool) {
	b := e.fleet.At(f.Backend, f.Pool)
	en, billed = f.Entry(b.Lang, b.Pools[f.Pool])
	return en, billed && !freight.Paid(e.st.Ledger, en)
}

func (e *engine) warnOfBudgets() {
	for _, text := range e.budgets.Warnings() {
		e.report.Note("", text, true)
	}
}

// launched is what is known of a launch that is over.
func (e *engine) launched(f *flight, o *offer.Observation, n int) ledger.Launch {
	l := ledger.Launch{N: n, Seen: o, Waited: sheet.Waited(e.st.Jobs[f.Key], f.Token, o.Started, n)}
	switch {
	case f.asked != nil:
		l.Shape = e.grown(f, *f.asked, f.First, n)
	case f.where != nil:
		l.Shape = e.shapeAt(f, f.where.Shape, n)
	}
	l.Limit = l.Shape.Walltime
	return l
}

// ran reports whether a launch was ever seen to run, so that it may have cost
// something. Of one that is lost its backend says nothing any more.
func (e *engine) ran(f *flight, o *offer.Observation, n int) bool {
	if !o.Started.IsZero() || o.Usage != nil || f.Status == cells.Running || f.Status == cells.Verifying {
		return true
	}
	return sheet.Ran(e.st.Jobs[f.Key], f.Token, n)
}
