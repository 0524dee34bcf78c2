package apply

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner/amount"
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
		if !ac.occupied(name) {
			ac.reconcileWith(name)
		}
	}
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

func (ac *accounts) reconcileWith(backend string) {
	bill, billed, known := ac.invoice(backend)
	if !known {
		return
	}
	was := state.Entry{}
	for i := range ac.st.Ledger {
		switch en := &ac.st.Ledger[i]; {
		case en.Backend != backend:
		case en.Token == machinesToken:
			was = *en
		case en.Attempt > 0 || billed: // what a cloud bills has the files that left it, too
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
	ac.budgets.Restate(en, before, now)
	ac.Emit(state.Spent{Entry: en})
	ac.warnOfBudgets()
}

// invoice is what the machines of a backend cost until now; billed where the cloud says
// so of every one, known where all are known.
func (ac *accounts) invoice(backend string) (sum decimal.Decimal, billed, known bool) {
	billed = true
	for _, r := range ac.st.Rentals {
		if r.Backend != backend || !r.Rented() && r.Began.IsZero() && r.Billed == "" { // no cloud began to bill it
			continue
		}
		known = true
		usd, ok := r.Cost(ac.Clock())
		if !ok {
			return sum, false, false
		}
		sum, billed = sum.Add(usd), billed && r.Billed != ""
	}
	return sum, billed, known
}
