package apply

import (
	"time"

	"github.com/muster-run/muster/planner/apply/ledger"
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
	plans := map[string]bool{e.approval: true}
	for _, j := range e.st.InFlight() {
		if a := j.Last(); a != nil && a.Plan != "" {
			plans[a.Plan] = true
		}
	}
	for _, plan := range sortedKeys(plans) {
		e.budgets.Ceiling(plan, e.ceiling(plan))
	}
	for i := range e.st.Ledger {
		e.enter(&e.st.Ledger[i])
	}
}

// ceiling is what was approved for a plan.
func (e *engine) ceiling(plan string) state.Amounts {
	for i := range e.st.Approvals {
		if a := &e.st.Approvals[i]; a.Plan == plan {
			return a.Ceiling
		}
	}
	if plan == e.approval {
		return e.Plan.Ceiling
	}
	return nil
}

// enter counts an entry that was in the ledger before.
func (e *engine) enter(en *state.Entry) {
	plan, ceiling := "", state.Amounts(nil)
	if j := e.st.Jobs[en.Address]; j != nil {
		for i := range j.Attempts {
			if a := &j.Attempts[i]; a.N == en.Attempt {
				plan, ceiling = a.Plan, a.Ceiling
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
	it := ledger.Item{Backend: f.b.Name, Plan: f.plan}
	if f.p != nil {
		it.Phase = f.p.Name
	}
	return it
}

// tariff is how a flight's launches are charged.
func (f *flight) tariff() ledger.Tariff {
	return ledger.Tariff{Price: f.where.Price, WholeNode: f.where.WholeNode}
}

// ceilingOf is what a flight may cost: as recorded with its attempt, or from
// its placement.
func (bs *budgets) ceilingOf(f *flight, recorded state.Amounts) ledger.Dues {
	left := int64(1)
	if f.rides() {
		left = int64(max(1, f.max-f.n+1))
	}
	if recorded != nil || f.where == nil {
		return ledger.Dues{One: recorded, Each: ledger.Parse(recorded), Left: left}
	}
	shape := relaunch.Segment(f.where.Shape, f.segments())
	first := f.job == nil || alike(f.job.Shape, shape)
	if d := bs.cache[f.where]; first && d != nil {
		return ledger.Dues{One: d.One, Each: d.Each, Left: left, Steps: d.Steps}
	}
	if !first {
		shape = f.job.Shape // grown
	}
	d := ledger.Dues{One: f.tariff().Ceiling(shape), Left: left}
	d.Each = ledger.Parse(d.One)
	if f.p != nil && f.rides() && len(f.p.Retry.Scale) > 0 {
		policy := f.p.Retry
		policy.MaxAttempts = f.max
		d.Steps = f.tariff().Ceilings(launches.Shapes(shape, policy, f.b.Pools[f.pool]))
	}
	if first {
		bs.cache[f.where] = &d
	}
	return d
}

// alike reports whether two shapes are charged alike.
func alike(a, b offer.Shape) bool {
	return a.Walltime == b.Walltime && a.GPUs == b.GPUs && a.CPUs == b.CPUs && a.Nodes == b.Nodes
}

// afford reports whether a flight fits into every account that counts it.
func (bs *budgets) afford(e *engine, f *flight) bool {
	return bs.Afford(f.item(), f.addr, f.due.Rest(), e.Clock())
}

// take counts a flight at its ceiling; give takes what is left of it away.
func (bs *budgets) take(f *flight) { bs.Fly(f.item(), f.due.Rest(), 1) }

func (bs *budgets) give(f *flight) {
	bs.Fly(f.item(), f.due.Rest(), -1)
	f.due.Left = 0
}

// bill enters what a launch really cost, once.
func (e *engine) bill(f *flight, o *offer.Observation, n int) *state.Entry {
	if n <= f.paid || o.Started.IsZero() && o.Usage == nil {
		return nil // counted already, or it never ran
	}
	f.paid = n
	it := f.item()
	en := &state.Entry{Address: f.key, Attempt: n, Backend: f.b.Name, Pool: f.pool, Phase: it.Phase, At: e.Clock()}
	spent, known := e.cost(f, o, n)
	if !known {
		en.Unknown = true
		spent = f.due.Each
	}
	en.Spent = spent.Text()
	most := f.due.Next()
	if f.due.Left > 0 {
		e.budgets.Fly(it, most, -1)
		f.due.Left--
	}
	e.budgets.Enter(it, spent, most)
	e.spent.Add(spent, 1)
	for _, text := range e.budgets.Warnings() {
		e.report.note(e, "", text, true)
		e.notify("budget", "", text)
	}
	return en
}

// cost is what a launch used, as large as it was and priced as its placement.
func (e *engine) cost(f *flight, o *offer.Observation, n int) (ledger.Amounts, bool) {
	elapsed := time.Duration(-1)
	if o.Usage != nil && o.Usage.Elapsed >= 0 {
		elapsed = o.Usage.Elapsed
	} else if !o.Started.IsZero() && !o.Ended.IsZero() {
		elapsed = o.Ended.Sub(o.Started)
	}
	if elapsed < 0 || f.where == nil {
		return ledger.Amounts{}, elapsed >= 0 && f.where == nil && len(f.due.One) == 0
	}
	return f.tariff().Cost(e.shapeAt(f, f.where.Shape, n), elapsed)
}
