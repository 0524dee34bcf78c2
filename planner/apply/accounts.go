package apply

import (
	"errors"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/planner/apply/ledger"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/planner/ceiling"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// accounts keep the costs of launches, billed and still possible. No attempt is
// in the tables without its tab in the books.
type accounts struct {
	*jobs
	budgets ledger.Books
	prices  ledger.Prices
	rises   map[place.PoolAt]bills          // by this run's bills, after those of earlier ones; nil until it is asked for
	shorted int                             // jobs that a limit holds in their queues
	billed  func(address, token string) int // the last launch in the ledger
	tariff  *ledger.Tariff                  // of the attempt before
	packs   map[string][]*attempt           // in flight, by pack
	ended   map[string]time.Duration        // backends that rent and on which launches ended since their machines were reconciled, and how long these are kept
	older   map[string]bool                 // backends that rent and on which launches of an earlier approval count
	waits   time.Time                       // when waits that are billed are looked at again; zero = never
}

// load opens an account for every budget, and one for the ceiling of
// the plan.
func (ac *accounts) load() {
	ac.ended, ac.older = map[string]time.Duration{}, map[string]bool{}
	common := ac.Common != nil && !ac.quiet
	if common {
		ac.budgets.Join(ac.Common(ac.st.Lineage))
	}
	for i := range ac.Campaign.Budgets {
		if b := &ac.Campaign.Budgets[i]; b.Shared == nil || !common {
			ac.budgets.Budget(b)
		}
	}
	// Of every approval, since a job that a later plan holds up may be launched
	// again under the one that launched it first.
	for i := range ac.st.Approvals {
		ac.budgets.Ceiling(ac.st.Approvals[i].Plan, ac.st.Approvals[i].Ceiling)
	}
	ac.budgets.Ceiling(ac.approval, ac.ceiling(ac.approval))
	ac.billed = ac.budgets.Recall(ac.st, history.Spender(ac.Campaign.Moved, ac.Plan.Moved()))
}

// ceiling is the approved ceiling of a plan.
func (ac *accounts) ceiling(plan string) state.Amounts {
	if most, ok := approvedCeiling(ac.st, plan); ok {
		return most
	}
	if plan == ac.approval {
		return ac.Plan.Ceiling
	}
	return nil
}

// tariffOf is how launches are charged where a decision puts them. Attempts that one
// decision placed share it.
func (ac *accounts) tariffOf(d *place.Decision) *ledger.Tariff {
	now := ledger.TariffOf(d)
	if ac.tariff == nil || *ac.tariff != now {
		ac.tariff = new(ledger.Tariff)
		*ac.tariff = now
	}
	return ac.tariff
}

// openTab tells what an attempt's money is spent on, and how it is charged.
func (ac *accounts) openTab(f *attempt) {
	f.tab = ledger.Tab{Item: ledger.Item{Backend: f.B.Name, Plan: f.plan}, Address: f.Key, Token: f.Token, Pool: f.Pool, First: f.First, Paid: f.tab.Paid}
	if f.p != nil {
		f.tab.Phase = f.p.Name
	} else if j := ac.st.Jobs[f.Key]; j != nil { // it left the campaign, and its phase has its budget still
		f.tab.Phase = j.Phase
	}
	switch {
	case f.asked == nil && f.where == nil: // how large it is, nobody knows
	case f.charged != nil:
		f.tab.Tariff = f.charged
	case f.where != nil:
		f.tab.Tariff = ac.tariffOf(f.where)
	}
}

// setAside is the most that an attempt may still cost: as recorded with the
// attempt, or from its placement.
func (ac *accounts) setAside(f *attempt, recorded state.Amounts) {
	ac.openTab(f)
	a := ledger.Ask{Where: f.where, Recorded: recorded, Charged: f.charged, Now: f.asked, Before: f.First - 1, Pool: f.pool()}
	if f.tab.Paid < f.N {
		a.Left = 1
	}
	if f.rides() {
		a.Left = max(0, f.max-max(f.tab.Paid, f.First-1))
	}
	if f.where != nil {
		a.Planned = ceiling.Segment(f.where.Shape, f.segments())
	}
	if f.p != nil && f.rides() {
		a.Retry = f.policy()
		a.Retry.Max = f.max
	}
	f.tab.Dues = ac.prices.Dues(a)
	f.tab.Rise = ac.riseOf(f)
}

// riseOf is by how much the launches of an attempt are billed above its rates: as this
// run's bills say, or else those of earlier ones.
func (ac *accounts) riseOf(f *attempt) ledger.Rise {
	if f.tab.Tariff == nil {
		return ledger.Rise{}
	}
	was := ac.billsOf(place.PoolAt{Backend: f.B.Name, Pool: f.Pool})
	switch {
	case was.factor.IsZero() && was.earlier.Factor.IsPositive():
		was.factor = was.earlier.Over(f.tab.Tariff.Price)
	case was.factor.IsZero():
		was.factor = decimal.NewFromInt(1)
	}
	return ledger.RiseTo(was.factor, place.RisenBy(f.tab.Tariff.Price))
}

// billsOf are those of a pool, of earlier runs where this one has none.
func (ac *accounts) billsOf(at place.PoolAt) bills {
	if ac.rises == nil {
		ac.rises = map[place.PoolAt]bills{}
		for at, b := range place.BillsOf(ac.st) {
			ac.rises[at] = bills{last: b.Last, since: b.Since, before: b.Before, until: b.Until, earlier: b.Rise}
		}
	}
	return ac.rises[at]
}

// afford reports whether an attempt fits into every account that counts it.
func (ac *accounts) afford(f *attempt) bool {
	return ac.budgets.Afford(f.tab.Item, f.Addr, f.tab.Dues, ac.Clock())
}

// claim reserves the remaining ceilings of attempts in ledgers shared by campaigns.
func (ac *accounts) claim(list ...*attempt) bool {
	tabs := make([]*ledger.Tab, len(list))
	for i, f := range list {
		tabs[i] = &f.tab
	}
	return ac.budgets.Claim(tabs...)
}

// publish records the costs of the run's launches for the other campaigns. If it
// cannot, the run starts nothing more.
func (ac *accounts) publish(err error) {
	if err != nil {
		ac.halt(progress.Budget, "the spending shared with other campaigns cannot be recorded: "+err.Error())
	}
}

// bill enters the real cost of a launch, once.
func (ac *accounts) bill(f *attempt, o *offer.Observation, n int) *state.Entry {
	if n <= f.tab.Paid || !ac.ran(f, o, n) && (!f.tab.Queued() || f.Handle == "") {
		return nil // counted already, or nothing was billed: it never ran
	}
	if f.B.Can.Rents && f.tab.Tariff != nil {
		ac.endedOn(f)
	}
	l := ac.launched(f, o, n)
	entries := ac.budgets.Bill(&f.tab, l, ac.Clock())
	ac.learnPrice(f, l)
	last := len(entries) - 1
	for i := range last {
		ac.Emit(state.Spent{Entry: entries[i]})
	}
	ac.warnOfBudgets()
	return &entries[last]
}

// Pay enters the cost of files that leave a backend which bills for them,
// before they leave, since a move that breaks off is billed, too. It fails
// where no budget covers the cost.
func (ac *accounts) Pay(f staging.Charge) error {
	en, billed := ac.charge(f)
	if !billed {
		return nil
	}
	en.Plan, en.At = ac.approval, ac.Clock()
	if why := ac.budgets.Enter(en); why != "" {
		return errors.New(why)
	}
	ac.Emit(state.Spent{Entry: en})
	ac.warnOfBudgets()
	return nil
}

// Billed reports whether a move is billed and not yet paid.
func (ac *accounts) Billed(f staging.Charge) bool {
	_, billed := ac.charge(f)
	return billed
}

// charge is the entry of a move that is billed and not yet paid.
func (ac *accounts) charge(f staging.Charge) (en state.Entry, billed bool) {
	var pool offer.Pool
	var conf *lang.Backend
	for _, b := range ac.Campaign.Backends {
		if b.Address() == f.Backend {
			conf = b
		}
	}
	if b := ac.backends.At(f.Backend, f.Pool); b != nil { // muster's machine may have files for a run and no jobs of it
		conf, pool = b.Lang, b.Pools[f.Pool]
	}
	en, billed = f.Entry(conf, pool)
	return en, billed && !staging.Paid(ac.st.Ledger, en)
}

func (ac *accounts) warnOfBudgets() {
	for _, text := range ac.budgets.Warnings() {
		ac.Note("", text, true)
	}
}

// launched is the record of a launch that is over.
func (ac *accounts) launched(f *attempt, o *offer.Observation, n int) ledger.EndedLaunch {
	l := ledger.EndedLaunch{N: n, Seen: o, Waited: jobspec.Waited(ac.st.Jobs[f.Key], f.Token, o.Started, n)}
	if l.Idle = !ac.ran(f, o, n); l.Idle {
		l.Waited = jobspec.Waited(ac.st.Jobs[f.Key], f.Token, ac.Clock(), n)
	}
	l.Shape = ac.grown(f, f.size(), f.First, n)
	if f.asked == nil { // where it is placed says nothing of retries
		l.Shape = ac.grown(f, f.size(), 1, n)
	}
	if o.Got != nil { // the granted shape is billed
		got := *o.Got
		got.Smoke, got.Options = l.Shape.Smoke, l.Shape.Options
		l.Shape = got
	}
	l.Limit = l.Shape.Walltime
	return l
}

// ran reports whether a launch was ever seen to run, so that it may have cost
// something. Of one that is lost its backend says nothing any more.
func (ac *accounts) ran(f *attempt, o *offer.Observation, n int) bool {
	if !o.Started.IsZero() || o.Usage != nil || f.Status == cells.Running || f.Status == cells.Verifying {
		return true
	}
	return jobspec.Ran(ac.st.Jobs[f.Key], f.Token, n)
}

// size is the request of an attempt's first launch.
func (f *attempt) size() (s offer.Shape) {
	switch {
	case f.asked != nil:
		s = *f.asked
	case f.where != nil:
		s = f.where.Shape
	}
	return s
}

// adopt puts an attempt where the engine finds it.
func (ac *accounts) adopt(f *attempt) {
	ac.attempts[f.Token] = f
	ac.byJob[f.Key] = f
	if f.where != nil {
		f.Own = f.where.Limits
	}
	ac.backends.Adopt(&f.Attempt)
	f.park(true)
	if f.p != nil {
		f.p.inflight++
	}
	ac.budgets.Open(&f.tab)
	if f.pack != "" {
		if ac.packs == nil {
			ac.packs = map[string][]*attempt{}
		}
		ac.packs[f.pack] = append(ac.packs[f.pack], f)
	}
	if f.tab.Queued() {
		ac.waits = ac.Clock()
	}
}

// park leaves an attempt out of the accounts while a limit holds its job in its
// queue: shorted counts exactly the attempts with a limit in short.
func (ac *accounts) park(f *attempt, limit string) {
	ac.budgets.Park(&f.tab)
	f.short = limit
	ac.shorted++
}

// unpark counts it again at its ceiling.
func (ac *accounts) unpark(f *attempt) {
	ac.budgets.Unpark(&f.tab)
	f.short = ""
	ac.shorted--
}

// land takes an attempt out: its attempt is over, or never was.
func (ac *accounts) land(f *attempt) {
	if ac.attempts[f.Token] != f {
		return
	}
	delete(ac.attempts, f.Token)
	if ac.byJob[f.Key] == f {
		delete(ac.byJob, f.Key)
	}
	ac.backends.Land(&f.Attempt)
	f.park(false)
	if f.p != nil {
		f.p.inflight--
	}
	ac.budgets.Close(&f.tab)
	if f.short != "" {
		f.short = ""
		ac.shorted--
	}
	ac.leave(f)
}

// learnPrice learns from the bill of a launch. When the last two, as they started and in
// whatever order they ended, were billed above their rates, like launches that are not over
// count at as much more.
func (ac *accounts) learnPrice(f *attempt, l ledger.EndedLaunch) {
	rise, told := f.tab.RiseOf(l)
	if !told {
		return
	}
	factor := rise.Factor().Mul(place.RisenBy(f.tab.Tariff.Price)).RoundCeil(6)
	at := place.PoolAt{Backend: f.B.Name, Pool: f.Pool}
	was := ac.billsOf(at)
	now := was
	switch began := l.Seen.Started; {
	case !began.Before(was.since):
		now.last, now.since, now.before, now.until = factor, began, was.last, was.since
	case !began.Before(was.until):
		now.before, now.until = factor, began
	default:
		return
	}
	switch {
	case !above(now.last):
		now.factor = decimal.NewFromInt(1)
	case above(now.before):
		now.factor = now.last
	}
	if ac.rises[at] = now; now.factor.Equal(was.factor) {
		return
	}
	for _, o := range ac.attempts {
		if o.B.Name == f.B.Name && o.Pool == f.Pool && o != f {
			ac.budgets.Raise(&o.tab, ac.riseOf(o))
		}
	}
	if !above(was.factor) && above(now.factor) {
		ac.Note(f.B.Title(), fmt.Sprintf("%s bills %s times its quote; the remaining jobs count at that price", f.title(), factor), true)
	}
}

func above(factor decimal.Decimal) bool { return factor.GreaterThan(decimal.NewFromInt(1)) }
