package apply

import (
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// units in the order of amounts.
var units = [...]string{place.USD, place.ServiceUnits, place.GPUHours, place.CPUHours, place.NodeHours}

// hourUnits begin here: what is measured rather than charged.
const hourUnits = 2

// amounts are quantities by unit, in billionths: exact where decimals are,
// and cheap enough to sum at every submission.
type amounts [len(units)]int64

const billionths = 9 // decimal places

func (a *amounts) add(b amounts, times int64) {
	for u := range a {
		a[u] += b[u] * times
	}
}

// parse reads decimal texts, rounding up.
func parseAmounts(m map[string]string) (a amounts) {
	for u, name := range units {
		if d, err := decimal.NewFromString(m[name]); err == nil {
			a[u] = d.Shift(billionths).Ceil().IntPart()
		}
	}
	return a
}

func (a amounts) text() state.Amounts {
	out := state.Amounts{}
	for u, name := range units {
		if a[u] != 0 {
			out[name] = decimal.New(a[u], -billionths).String()
		}
	}
	return out
}

// tally is what a run spent.
type tally = amounts

// dues are what a flight may still cost: one launch at its full walltime, and
// how many launches are left to it.
type dues struct {
	one  state.Amounts
	each amounts
	left int64
	// steps are the launches where retries scale, first to last; nil: each.
	steps []amounts
}

// next is what the next launch may cost; rest is that of all that are left.
func (d *dues) next() amounts {
	if at := len(d.steps) - int(d.left); d.steps != nil && at >= 0 && at < len(d.steps) {
		return d.steps[at]
	}
	return d.each
}

func (d *dues) rest() (a amounts) {
	if d.steps == nil || int(d.left) > len(d.steps) {
		a.add(d.each, d.left)
		return a
	}
	for _, s := range d.steps[len(d.steps)-int(d.left):] {
		a.add(s, 1)
	}
	return a
}

// An account is one budget, or the ceiling that was approved.
type account struct {
	name     string
	limit    amounts
	has      [len(units)]bool
	deadline time.Time
	warnAt   float64
	phases   map[string]bool
	backends map[string]bool // with phases: both nil = everything
	plan     string          // of the approval whose ceiling this is
	used     amounts         // the ledger
	flying   amounts         // in flight, at its ceiling
	warned   bool
	broken   string
}

type budgets struct {
	accounts []*account
	cache    map[*place.Decision]*dues
	short    bool // something ready was not affordable in this turn
	why      string
}

// loadBudgets opens an account for every budget, and one for the ceiling of
// the plan.
func (e *engine) loadBudgets() {
	e.budgets.cache = map[*place.Decision]*dues{}
	for i := range e.Campaign.Budgets {
		b := &e.Campaign.Budgets[i]
		a := &account{name: fmt.Sprintf("budget %q", b.Name), deadline: b.Deadline, warnAt: b.WarnAt}
		a.set(b.Limits)
		for _, to := range b.AppliesTo {
			if name, ok := strings.CutPrefix(to, "phase."); ok {
				set(&a.phases, name)
			} else {
				set(&a.backends, strings.TrimPrefix(to, "backend."))
			}
		}
		e.budgets.accounts = append(e.budgets.accounts, a)
	}
	plans := map[string]bool{e.approval: true}
	for _, j := range e.st.InFlight() {
		if a := j.Last(); a != nil && a.Plan != "" {
			plans[a.Plan] = true
		}
	}
	for _, plan := range sortedKeys(plans) {
		a := &account{name: "the approved ceiling", plan: plan}
		a.set(e.ceiling(plan))
		e.budgets.accounts = append(e.budgets.accounts, a)
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

func set(m *map[string]bool, key string) {
	if *m == nil {
		*m = map[string]bool{}
	}
	(*m)[key] = true
}

func (a *account) set(limits map[string]string) {
	a.limit = parseAmounts(limits)
	for u, name := range units {
		_, a.has[u] = limits[name]
	}
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
	e.budgets.enter(en.Phase, en.Backend, plan, parseAmounts(spent), parseAmounts(ceiling))
}

func (bs *budgets) enter(phase, backend, plan string, spent, ceiling amounts) {
	for _, a := range bs.accounts {
		switch {
		case !a.counts(phase, backend, plan):
		case a.plan != "":
			a.used.add(capped(spent, ceiling), 1)
		default:
			a.used.add(spent, 1)
		}
	}
}

// capped counts measured hours at most at their ceiling: the seconds between
// a polite end and a hard one are no reason to leave the last job.
func capped(spent, ceiling amounts) amounts {
	for u := hourUnits; u < len(units); u++ {
		if ceiling[u] > 0 {
			spent[u] = min(spent[u], ceiling[u])
		}
	}
	return spent
}

func (a *account) counts(phase, backend, plan string) bool {
	if a.plan != "" {
		return a.plan == plan
	}
	return a.phases == nil && a.backends == nil || a.phases[phase] || a.backends[backend]
}

func (f *flight) phaseName() string {
	if f.p == nil {
		return ""
	}
	return f.p.Name
}

// ceilingOf is what a flight may cost: as recorded with its attempt, or from
// its placement.
func (bs *budgets) ceilingOf(e *engine, f *flight, recorded state.Amounts) dues {
	left := int64(1)
	if f.rides() {
		left = int64(max(1, f.max-f.n+1))
	}
	if recorded != nil || f.where == nil {
		return dues{one: recorded, each: parseAmounts(recorded), left: left}
	}
	if f.job != nil && f.job.Shape.Walltime == f.where.Shape.Walltime && f.job.Shape.GPUs == f.where.Shape.GPUs && f.job.Shape.CPUs == f.where.Shape.CPUs {
		if d := bs.cache[f.where]; d != nil {
			return dues{one: d.one, each: d.each, left: left, steps: d.steps}
		}
	}
	d := dues{one: fromPlace(f), left: left}
	d.each = parseAmounts(d.one)
	d.steps = stepsOf(f)
	bs.cache[f.where] = &d
	return d
}

// stepsOf are the launches of a riding flight whose retries scale.
func stepsOf(f *flight) (out []amounts) {
	if f.p == nil || !f.rides() || len(f.p.Retry.Scale) == 0 {
		return nil
	}
	for _, s := range planner.Launches(f.where.Shape, f.p.Retry, f.b.pools[f.pool]) {
		cost, _ := place.Cost(s, f.where.Price, f.where.WholeNode, s.Walltime)
		var a amounts
		for u, name := range units {
			a[u] = cost[name].Shift(billionths).Ceil().IntPart()
		}
		out = append(out, a)
	}
	return out
}

// fromPlace is one launch at its full walltime, as the planner priced it.
func fromPlace(f *flight) state.Amounts {
	w := f.where
	shape := w.Shape
	if f.job != nil {
		shape = f.job.Shape
	}
	out := state.Amounts{}
	cost, _ := place.Cost(shape, w.Price, w.WholeNode, shape.Walltime)
	for unit, d := range cost {
		if !d.IsZero() {
			out[unit] = d.String()
		}
	}
	return out
}

// afford reports whether a job fits into every budget that names it: ledger +
// in flight at its ceiling + its own ceiling ≤ the limit.
func (bs *budgets) afford(e *engine, f *flight) bool {
	now := e.Clock()
	for _, a := range bs.accounts {
		if !a.counts(f.phaseName(), f.b.name, f.plan) {
			continue
		}
		if why := a.refuses(f, now); why != "" {
			bs.short, bs.why = true, why
			a.broken = why
			return false
		}
	}
	return true
}

func (a *account) refuses(f *flight, now time.Time) string {
	if !a.deadline.IsZero() && now.After(a.deadline) {
		return fmt.Sprintf("the deadline of %s, %s, has passed", a.name, a.deadline.UTC().Format("2006-01-02 15:04 MST"))
	}
	rest := f.due.rest()
	for u := range units {
		if !a.has[u] {
			continue
		}
		want := a.used[u] + a.flying[u] + rest[u]
		if want > a.limit[u] {
			return fmt.Sprintf("%s does not cover %s: %s spent, %s in flight and %s for it pass %s %s", a.name, f.addr,
				billion(a.used[u]), billion(a.flying[u]), billion(rest[u]), billion(a.limit[u]), units[u])
		}
	}
	return ""
}

func billion(v int64) string { return decimal.New(v, -billionths).Round(4).String() }

// take counts a flight at its ceiling; give takes what is left of it away.
func (bs *budgets) take(f *flight) { bs.fly(f, f.due.rest(), 1) }

func (bs *budgets) give(f *flight) {
	bs.fly(f, f.due.rest(), -1)
	f.due.left = 0
}

func (bs *budgets) fly(f *flight, what amounts, times int64) {
	if what == (amounts{}) {
		return
	}
	for _, a := range bs.accounts {
		if a.counts(f.phaseName(), f.b.name, f.plan) {
			a.flying.add(what, times)
		}
	}
}

// bill enters what a launch really cost, once.
func (e *engine) bill(f *flight, o *offer.Observation, n int) *state.Entry {
	if n <= f.paid || o.Started.IsZero() && o.Usage == nil {
		return nil // counted already, or it never ran
	}
	f.paid = n
	en := &state.Entry{Address: f.key, Attempt: n, Backend: f.b.name, Pool: f.pool, Phase: f.phaseName(), At: e.Clock()}
	spent, known := f.cost(o)
	if !known {
		en.Unknown = true
		spent = f.due.each
	}
	en.Spent = spent.text()
	most := f.due.next()
	if f.due.left > 0 {
		e.budgets.fly(f, most, -1)
		f.due.left--
	}
	e.budgets.enter(en.Phase, en.Backend, f.plan, spent, most)
	e.spent.add(spent, 1)
	e.warnBudgets()
	return en
}

// cost is what a launch used, priced as its placement is.
func (f *flight) cost(o *offer.Observation) (amounts, bool) {
	elapsed := time.Duration(-1)
	if o.Usage != nil && o.Usage.Elapsed >= 0 {
		elapsed = o.Usage.Elapsed
	} else if !o.Started.IsZero() && !o.Ended.IsZero() {
		elapsed = o.Ended.Sub(o.Started)
	}
	if elapsed < 0 || f.where == nil {
		return amounts{}, elapsed >= 0 && f.where == nil && len(f.due.one) == 0
	}
	shape := f.where.Shape
	var a amounts
	if p := f.where.Price; !charges(p) && !f.where.WholeNode && shape.Nodes <= 1 {
		// Only hours: the common case, and exact in integers.
		const perHour = int64(time.Hour)
		scale := func(n int64) int64 {
			h, rest := n*int64(elapsed)/perHour, n*int64(elapsed)%perHour
			return h*1e9 + int64(float64(rest)/float64(perHour)*1e9)
		}
		a[3] = scale(int64(max(shape.CPUs, 1)))
		if shape.GPUs > 0 {
			a[2] = scale(int64(shape.GPUs))
		}
		return a, true
	}
	cost, known := place.Cost(shape, f.where.Price, f.where.WholeNode, elapsed)
	for u, name := range units {
		if d, ok := cost[name]; ok {
			a[u] = d.Shift(billionths).Ceil().IntPart()
		}
	}
	return a, known || !f.where.Price.Known && !charges(f.where.Price)
}

func charges(p offer.Price) bool {
	return p.USDPerGPUHour != "" || p.USDPerHour != "" || p.SUPerGPUHour != "" || p.SUPerNodeHour != "" || p.SUPerCPUHour != ""
}

func positive(rate string) bool {
	d, err := decimal.NewFromString(rate)
	return err == nil && d.IsPositive()
}

// warnBudgets says once when ledger plus in flight passes a budget's share.
func (e *engine) warnBudgets() {
	for _, a := range e.budgets.accounts {
		if a.warned || a.warnAt <= 0 || a.plan != "" {
			continue
		}
		for u := range units {
			if a.has[u] && a.limit[u] > 0 && float64(a.used[u]+a.flying[u]) >= a.warnAt*float64(a.limit[u]) {
				a.warned = true
				text := fmt.Sprintf("%s: %s of %s %s spent or in flight", a.name, billion(a.used[u]+a.flying[u]), billion(a.limit[u]), units[u])
				e.report.note(e, "", text, true)
				e.notify("budget", "", text)
				break
			}
		}
	}
}
