package budget

import (
	"fmt"
	"maps"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/state"
)

// Uncovered says in which units a budget leaves no room for one launch more beside the ledger
// and the jobs in flight, each at its ceiling; nil where there is room.
func Uncovered(st *state.State, dir string, b lang.Budget, each state.Amounts) (out []string) {
	for _, unit := range slices.Sorted(maps.Keys(b.Limits)) {
		spent, _, _ := Spent(st.Ledger, b, unit)
		spent = spent.Add(elsewhere(b, lang.Owner{Lineage: st.Lineage, Dir: dir}, unit))
		flying := inFlight(st, b, unit)
		limit, one := amount.Of(b.Limits[unit]), amount.Of(each[unit])
		if one.IsZero() || !amount.Exceeds(spent.Add(flying).Add(one), limit) {
			continue
		}
		q := func(d decimal.Decimal) string { return amount.Words(unit, d.String()) }
		out = append(out, fmt.Sprintf("budget %q does not cover it: %s spent, %s in flight at its ceiling, and %s for one launch pass %s", b.Name, q(spent), q(flying), q(one), q(limit)))
	}
	return out
}

// inFlight is the most that launches in flight may still take.
func inFlight(st *state.State, b lang.Budget, unit string) (sum decimal.Decimal) {
	for _, j := range st.InFlight() {
		if at := j.Last(); at != nil && b.Counts(j.Phase, at.Backend) {
			if most, ok := at.Ceiling[unit]; ok {
				sum = sum.Add(amount.Of(most))
			}
		}
	}
	return sum
}
