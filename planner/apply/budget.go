package apply

import (
	"errors"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/planner/apply/approval"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/freight"
	"github.com/muster-run/muster/planner/apply/ledger"
	"github.com/muster-run/muster/planner/apply/sheet"
	"github.com/muster-run/muster/planner/launches"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// loadBudgets opens an account for every budget, and one for the ceiling of
// the plan.
func (e *engine) loadBudgets() {
	for i := range e.Campaign.Budgets {
		e.budgets.Budget(&e.Campaign.Budgets[i])
	}
	// Of every approval, since a job that a later plan holds up may be launched
	// again under the one that launched it first.
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
	} else if j := e.st.Jobs[f.Key]; j != nil { // it left the campaign, and its phase has its budget still
		f.tab.Phase = j.Phase
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
	a := ledger.Ask{Where: f.where, Recorded: recorded, Charged: f.charged, Now: f.asked, Before: f.First - 1, Pool: f.pool()}
	if f.tab.Paid < f.N {
		a.Left = 1
	}
	if f.rides() {
		a.Left = max(0, f.max-max(f.tab.Paid, f.First-1))
	}
	if f.where != nil {
		a.Planned = launches.Segment(f.where.Shape, f.segments())
	}
	if f.p != nil && f.rides() {
		a.Retry = f.policy()
		a.Retry.Max = f.max
	}
	f.tab.Dues = e.prices.Dues(a)
	f.tab.Rise = e.rises[place.PoolAt{Backend: f.B.Name, Pool: f.Pool}].rise
}

// afford reports whether a flight fits into every account that counts it.
func (e *engine) afford(f *flight) bool {
	return e.budgets.Afford(f.tab.Item, f.Addr, f.tab.Dues, e.Clock())
}

// bill enters what a launch really cost, once.
func (e *engine) bill(f *flight, o *offer.Observation, n int) *state.Entry {
	if n <= f.tab.Paid || !e.ran(f, o, n) && (!f.tab.Queued() || f.Handle == "") {
		return nil // counted already, or nothing was billed: it never ran
	}
	l := e.launched(f, o, n)
	entries := e.budgets.Bill(&f.tab, l, e.Clock())
	e.learnPrice(f, l)
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
	if l.Idle = !e.ran(f, o, n); l.Idle {
		l.Waited = sheet.Waited(e.st.Jobs[f.Key], f.Token, e.Clock(), n)
	}
	l.Shape = e.grown(f, f.size(), f.First, n)
	if f.asked == nil { // where it is placed says nothing of retries
		l.Shape = e.grown(f, f.size(), 1, n)
	}
	if o.Got != nil { // what it was given is what is billed
		got := *o.Got
		got.Smoke, got.Options = l.Shape.Smoke, l.Shape.Options
		l.Shape = got
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

// watchWaits sets aside what jobs have waited beyond what was quoted where that
// is billed, and takes back from its queue what no account covers any more.
func (e *engine) watchWaits() {
	now := e.Clock()
	if e.waits.IsZero() || e.waits.After(now) || e.fleet.Unanswered > 0 {
		return
	}
	e.waits = time.Time{}
	back := false
	for _, f := range e.flights {
		if !f.tab.Queued() || f.End != fleet.Stays || f.Status != cells.Queued && f.Status != cells.Submitting {
			continue
		}
		waited := sheet.Waited(e.st.Jobs[f.Key], f.Token, now, f.N)
		e.waits = clock.Earliest(e.waits, now.Add(e.budgets.Await(&f.tab, f.size(), max(waited, 0))))
		if waited > 0 && !e.budgets.Covers(&f.tab, now) {
			f.by = "muster: its wait is billed, and " + e.budgets.Why
			f.EndAs(fleet.Hold)
			back = true
			e.budgets.TakeBack(&f.tab, f.size())
			e.report.Note(f.Addr, f.Addr+" is taken back from its queue: its wait is billed, and "+e.budgets.Why, true)
		}
	}
	if back {
		e.fleet.Cancel()
	}
}

// size is what a flight's first launch asked for.
func (f *flight) size() (s offer.Shape) {
	switch {
	case f.asked != nil:
		s = *f.asked
	case f.where != nil:
		s = f.where.Shape
	}
	return s
}
