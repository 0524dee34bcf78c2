package budget

import (
	"fmt"
	"maps"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/state"
)

// Ceiling is the amount that an approval of the plan grants: the plan's at
// most, or the rest of the budgets over everything where that is smaller. A
// budget on a part binds that part at each submission. The checks are those of
// the budgets.
func (c Case) Ceiling(budgets []lang.Budget, checks []Check) state.Amounts {
	out := state.Amounts{}
	for _, l := range c.Forecast.All() {
		if l.AtMost.Mark != forecast.Unknown {
			out[l.Unit] = l.AtMost.Text
		}
	}
	for i, b := range budgets {
		if len(b.AppliesTo) > 0 || b.Shared != nil { // the rest of a shared one changes
			continue
		}
		for unit, limit := range b.Limits {
			room := decimal.Max(amount.Of(limit).Sub(amount.Of(checks[i].Spent[unit])), decimal.Zero)
			if old, ok := out[unit]; !ok || amount.Of(old).GreaterThan(room) {
				out[unit] = room.String()
			}
		}
	}
	return out
}

// Asks names why a flag alone does not approve a plan of this ceiling.
func (c Case) Asks(policy lang.Policy, ceiling state.Amounts) (why []string) {
	if c.Rests { // running jobs were approved before, and the ceiling is the rest of the budgets
		return nil
	}
	for _, unit := range slices.Sorted(maps.Keys(policy.ApproveAbove)) {
		limit := policy.ApproveAbove[unit]
		most, ok := ceiling[unit]
		l := forecast.LineOf(c.Forecast.All(), unit)
		switch {
		case l.AtMost.Mark == forecast.Unknown && l.Unit != "":
			why = append(why, fmt.Sprintf("its cost in %s is unknown, and policy approve_above is %s: save it with -out and apply the file", amount.Unit(unit), amount.Words(unit, limit)))
		case ok && amount.Exceeds(amount.Of(most), amount.Of(limit)):
			why = append(why, fmt.Sprintf("it may cost up to %s, and policy approve_above is %s: save it with -out and apply the file", amount.Words(unit, most), amount.Words(unit, limit)))
		}
	}
	return why
}
