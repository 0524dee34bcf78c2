package apply

import (
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
)

// machinesToken marks the entry of a backend's machines in the ledger.
const machinesToken = "machines"

// reconcile enters, for each backend that rents, the cost of its machines beyond the charges
// of its jobs, so that its entries add up to the cloud's bill. A backend with jobs in flight
// waits: they count at their ceilings.
func (ac *accounts) reconcile() {
	var names []string
	for _, r := range ac.st.Rentals {
		names = append(names, r.Backend)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if ac.occupied(name) {
			ac.older[name] = true
			continue
		}
		ac.reconcileWith(name, "", ac.Clock(), decimal.Zero)
	}
}

// endedOn notes that a launch has ended on a backend that rents.
func (ac *accounts) endedOn(f *attempt) {
	name := f.B.Name
	ac.ended[name] = max(ac.ended[name], f.tab.Tariff.Hold)
	ac.older[name] = ac.older[name] || f.plan != ac.approval
}

// reconcileEnded does so in mid-run for backends on which launches have ended: each was charged
// its boot and its hold, which launches on one machine pay once. The machines count until the
// hold of their last job is over. The cost so far of jobs in flight counts in their ceilings.
// The approval of this run is charged less, too, unless an earlier one paid for jobs of those
// machines.
func (ac *accounts) reconcileEnded() {
	for _, name := range slices.Sorted(maps.Keys(ac.ended)) {
		plan := ac.approval
		if ac.older[name] {
			plan = ""
		}
		ac.reconcileWith(name, plan, ac.Clock().Add(ac.ended[name]), ac.running(name))
	}
	clear(ac.ended)
}

// running is the cost so far of the jobs that run on a backend, USD. It counts at most the
// time since their launch by this machine's clock, whatever other clocks say.
func (ac *accounts) running(backend string) (sum decimal.Decimal) {
	now := ac.Clock()
	for _, f := range ac.attempts {
		a := ac.st.Jobs[f.Key].Last()
		if f.B.Name != backend || f.Status != cells.Running || f.tab.Tariff == nil || a == nil || a.Started.IsZero() {
			continue
		}
		s, price := f.size(), f.tab.Tariff.Price
		price.Minimum, price.Granularity = 0, 0
		lasts := min(now.Sub(a.Started), now.Sub(a.Intent), s.Walltime)
		cost, _ := place.Cost(s, price, max(lasts, 0))
		sum = sum.Add(cost[place.USD])
	}
	return sum
}

// occupied reports whether attempts are in flight on a backend.
func (ac *accounts) occupied(backend string) bool {
	for _, f := range ac.attempts {
		if f.B.Name == backend {
			return true
		}
	}
	return false
}

// reconcileWith enters the cost of a backend's machines until a time, less the charges of its
// jobs and the amount counted elsewhere, USD. The difference counts in a plan; "" = in none.
func (ac *accounts) reconcileWith(backend, plan string, until time.Time, elsewhere decimal.Decimal) {
	bill, billed, known := ac.invoice(backend, until)
	if !known {
		return
	}
	bill = bill.Sub(elsewhere)
	was := state.Entry{}
	for i := range ac.st.Ledger {
		switch en := &ac.st.Ledger[i]; {
		case en.Backend != backend:
		case en.Token == machinesToken:
			was = *en
		case en.Attempt > 0 || billed: // a cloud's bill has egress, too
			bill = bill.Sub(amount.Of(en.Spent.Map()["usd"]))
		}
	}
	bill = amount.Counted(bill)
	before := was.Spent.Map()
	if bill.Equal(amount.Of(before["usd"])) {
		return
	}
	now := map[string]string{"usd": bill.String()}
	en := state.Entry{Address: "backend." + backend, Token: machinesToken, Backend: backend, At: ac.Clock(), Spent: state.TextsOf(now)}
	counted := en
	counted.Plan = plan
	ac.budgets.Restate(counted, before, now)
	ac.Emit(state.Spent{Entry: en})
	ac.warnOfBudgets()
}

// invoice is the cost of a backend's machines until a time. It is billed where the cloud
// told the cost of every machine, and known where each has one.
func (ac *accounts) invoice(backend string, until time.Time) (sum decimal.Decimal, billed, known bool) {
	billed = true
	for _, r := range ac.st.Rentals {
		if r.Backend != backend || !r.Rented() && r.Began.IsZero() && r.Billed == "" { // no cloud began to bill it
			continue
		}
		known = true
		usd, ok := r.Cost(until)
		if !ok {
			return sum, false, false
		}
		sum, billed = sum.Add(usd), billed && r.Billed != ""
	}
	return sum, billed, known
}
