package apply

import (
	"time"

	"github.com/muster-run/muster/planner/apply/approval"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/ledger"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/planner/apply/relaunch"
	"github.com/muster-run/muster/planner/launches"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// budgets are the books, and what placements cost as it was worked out.
type budgets struct {
	ledger.Books
	cache map[*place.Decision]*ledger.Dues
}

// loadBudgets opens an account for every budget, and one for the ceiling of
// the plan.
func (e *engine) loadBudgets() {
	e.budgets.cache = map[*place.Decision]*ledger.Dues{}
	for i := range e.Campaign.Budgets {
		e.budgets.Budget(&e.Campaign.Budgets[i])
	}
	// Of every approval, since a job may be launched again under the one that
	// launched it first.
	for i := range e.st.Approvals {
		e.budgets.Ceiling(e.st.Approvals[i].Plan, e.st.Approvals[i].Ceiling)
	}
	e.budgets.Ceiling(e.approval, e.ceiling(e.approval))
	for i := range e.st.Ledger {
		e.enter(&e.st.Ledger[i])
	}
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

// enter counts an entry that was in the ledger before.
func (e *engine) enter(en *state.Entry) {
	plan, ceiling := en.Plan, state.Amounts(nil)
	if j := e.st.Jobs[en.Address]; j != nil {
		for i := range j.Attempts {
			if a := &j.Attempts[i]; a.N == en.Attempt && (en.Token == "" || en.Token == short(a.Token)) {
				plan, ceiling = orText(plan, a.Plan), a.Ceiling
			}
		}
	}
	spent := en.Spent
	if en.Unknown && len(spent) == 0 {
		spent = ceiling
	}
	e.budgets.Enter(ledger.Item{Phase: en.Phase, Backend: en.Backend, Plan: plan}, ledger.Parse(spent), ledger.Parse(ceiling))
}

// item is what a flight's money is spent on.
func (f *flight) item() ledger.Item {
	it := ledger.Item{Backend: f.B.Name, Plan: f.plan}
	if f.p != nil {
		it.Phase = f.p.Name
	}
	return it
}

// tariff is how a flight's launches are charged.
func (f *flight) tariff() ledger.Tariff { return ledger.TariffOf(f.where) }

// ceilingOf is what a flight may still cost: as recorded with its attempt, or
// from its placement.
func (bs *budgets) ceilingOf(f *flight, recorded state.Amounts) ledger.Dues {
	left := int64(b2i(f.paid < f.N))
	if f.rides() {
		left = int64(max(0, f.max-max(f.paid, f.First-1)))
	}
	if f.where == nil {
		return ledger.Dues{One: recorded, Each: ledger.Parse(recorded), Left: left}
	}
	shape := relaunch.Segment(f.where.Shape, f.segments())
	first := f.Job == nil || alike(f.Job.Shape, shape)
	if d := bs.cache[f.where]; first && d != nil && recorded == nil && len(d.Steps) == 0 {
		return ledger.Dues{One: d.One, Each: d.Each, Left: left, Open: d.Open}
	}
	if !first {
		shape = f.Job.Shape // grown
	}
	d := ledger.Dues{One: f.tariff().Ceiling(shape), Left: left, Open: f.tariff().Open(shape)}
	if recorded != nil {
		d.One = recorded
	}
	d.Each = ledger.Parse(d.One)
	if f.p != nil && f.rides() && len(f.p.Retry.Scale) > 0 {
		policy := f.p.Retry
		policy.MaxAttempts = f.max
		if !first {
			policy.MaxAttempts -= f.N - 1 // this launch is the first of those to come
		}
		d.Steps = f.tariff().Ceilings(launches.Shapes(shape, policy, f.B.Pools[f.Pool]))
	}
	if first && recorded == nil {
		bs.cache[f.where] = &d
	}
	return d
}

// dearer reports whether a flight that was minted before may cost more by now
// than was set aside for it then.
func (f *flight) dearer() bool {
	if f.where == nil {
		return false
	}
	now, then := ledger.Parse(f.tariff().Ceiling(f.Job.Shape)), f.due.Each
	for u := range now {
		if now[u] > then[u] {
			return true
		}
	}
	return false
}

// alike reports whether two shapes are charged alike.
func alike(a, b offer.Shape) bool {
	return a.Walltime == b.Walltime && a.GPUs == b.GPUs && a.CPUs == b.CPUs && a.Nodes == b.Nodes
}

// afford reports whether a flight fits into every account that counts it.
func (bs *budgets) afford(e *engine, f *flight) bool {
	return bs.Afford(f.item(), f.Addr, f.due, e.Clock())
}

// take counts a flight at its ceiling; give takes what is left of it away.
func (bs *budgets) take(f *flight) { bs.Fly(f.item(), f.due.Rest(), 1) }

func (bs *budgets) give(f *flight) {
	bs.Fly(f.item(), f.due.Rest(), -1)
	f.due.Left = 0
}

// A billed names the launches of one token.
type billed struct{ key, token string }

// lastBilled is the last launch of each token that is in the ledger.
func (e *engine) lastBilled() map[billed]int {
	out := map[billed]int{}
	if len(e.st.InFlight()) == 0 {
		return out
	}
	for i := range e.st.Ledger {
		if en := &e.st.Ledger[i]; en.Token != "" {
			at := billed{en.Address, en.Token}
			out[at] = max(out[at], en.Attempt)
		}
	}
	return out
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// tokenDigits is how many digits of its token tell an attempt from others of
// the same number.
const tokenDigits = 8

func short(token string) string { return token[:min(len(token), tokenDigits)] }

// bill enters what a launch really cost, once.
func (e *engine) bill(f *flight, o *offer.Observation, n int) *state.Entry {
	if n <= f.paid || !e.ran(f, o, n) {
		return nil // counted already, or it never ran
	}
	for k := max(f.paid+1, f.First); k < n; k++ {
		e.guess(f, k)
	}
	f.paid = n
	most := f.landOne()
	e.budgets.Fly(f.item(), most, -1)
	spent, known := e.cost(f, o, n, most)
	return e.book(f, n, spent, most, known)
}

// guess enters a launch that its queue made by itself and of whose end nothing
// was heard, at its ceiling.
func (e *engine) guess(f *flight, n int) {
	most := f.landOne()
	e.budgets.Fly(f.item(), most, -1)
	if f.guessed == nil {
		f.guessed = map[int]ledger.Amounts{}
	}
	f.guessed[n] = most
	e.emit(state.Spent{Entry: *e.book(f, n, most, most, false)})
}

// correct enters what a launch cost that was guessed before.
func (e *engine) correct(f *flight, o *offer.Observation, n int, guess ledger.Amounts) *state.Entry {
	delete(f.guessed, n)
	spent, known := e.cost(f, o, n, guess)
	en := e.book(f, n, spent, guess, known)
	var back ledger.Amounts
	back.Add(guess, -1)
	e.budgets.Enter(f.item(), back, ledger.Amounts{})
	e.spent.Add(guess, -1)
	return en
}

// landOne is what was set aside for the next launch, which is over; nothing
// when none was.
func (f *flight) landOne() ledger.Amounts {
	most := f.due.Next()
	if f.due.Left <= 0 {
		return ledger.Amounts{}
	}
	f.due.Left--
	return most
}

// book enters an amount into every account, and makes its entry.
func (e *engine) book(f *flight, n int, spent, most ledger.Amounts, known bool) *state.Entry {
	it := f.item()
	en := &state.Entry{Address: f.Key, Attempt: n, Token: short(f.Token), Plan: f.plan, Backend: f.B.Name, Pool: f.Pool, Phase: it.Phase,
		At: e.Clock(), Spent: spent.Text(), Unknown: !known}
	e.budgets.Enter(it, spent, most)
	e.spent.Add(spent, 1)
	for _, text := range e.budgets.Warnings() {
		e.report.note(e, "", text, true)
	}
	return en
}

// ran reports whether a launch was ever seen to run, so that it may have cost
// something. Of one that is lost its backend says nothing any more.
func (e *engine) ran(f *flight, o *offer.Observation, n int) bool {
	if !o.Started.IsZero() || o.Usage != nil || f.Status == cells.Running || f.Status == cells.Verifying {
		return true
	}
	if j := e.st.Jobs[f.Key]; j != nil {
		for i := range j.Attempts {
			if a := &j.Attempts[i]; a.N == n && line.Stem(a.Token) == f.Token {
				return !a.Started.IsZero()
			}
		}
	}
	return false
}

// cost is what a launch used, as large as it was and priced as its placement,
// unless its backend says what it charged. Where that cannot be told it counts
// at its ceiling, and known is false.
func (e *engine) cost(f *flight, o *offer.Observation, n int, most ledger.Amounts) (spent ledger.Amounts, known bool) {
	elapsed, measured := elapsedOf(o, f.walltime())
	switch {
	case f.where == nil:
		spent, known = most, measured && len(f.due.One) == 0
	case !measured:
		spent = most
	default:
		spent, known = f.tariff().Cost(e.shapeAt(f, f.where.Shape, n), elapsed)
		if !known {
			spent.Charge(most)
		}
	}
	if o.Usage != nil {
		if unit, billed, ok := ledger.Billed(o.Usage.Billed); ok {
			spent[unit] = billed
			known = known || measured
		}
	}
	return spent, known
}

// walltime is the longest that a flight's launch may run; 0 = not stated.
func (f *flight) walltime() time.Duration {
	if f.where == nil {
		return 0
	}
	return f.where.Shape.Walltime
}

// implausible is how many walltimes a launch cannot have taken: between its
// start and its end a clock was set.
const implausible = 10

// elapsedOf is how long a launch ran: as measured, else between its times,
// which say nothing where a clock was set between them.
func elapsedOf(o *offer.Observation, walltime time.Duration) (elapsed time.Duration, ok bool) {
	if o.Usage != nil && o.Usage.Elapsed >= 0 {
		return o.Usage.Elapsed, true
	}
	if o.Started.IsZero() || o.Ended.IsZero() {
		return 0, false
	}
	elapsed = o.Ended.Sub(o.Started)
	return elapsed, elapsed >= 0 && (walltime == 0 || elapsed <= implausible*walltime)
}
