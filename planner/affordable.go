package planner

import (
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/ceiling"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// affordable is how many of n jobs of a phase the budgets leave room for on a
// place, each at the ceiling of one launch (of all of them where a budget is
// strict), and which budget ends it. claimed is the part of a budget that is
// taken already, of money and of service units.
func affordable(budgets []lang.Budget, p *lang.Phase, d place.Decision, pools []offer.Pool, n int, claimed func(b lang.Budget, unit string) decimal.Decimal) (most int, bound string) {
	most = n
	for _, b := range budgets {
		if !b.Counts(p.Name, d.Backend) {
			continue
		}
		each, known := place.AtMost(d.Shape, d.Price, d.Around(), d.Hold)
		if b.Strict {
			each, known = ceiling.Ceiling(d, p.Retry, pools)
		}
		for unit, text := range b.Limits {
			if !known.Of(unit) {
				return 0, fmt.Sprintf("its cost is not known, and budget %q limits %s", b.Name, amount.Unit(unit))
			}
			if !each[unit].IsPositive() || unit != place.USD && unit != place.ServiceUnits {
				continue
			}
			room := amount.Of(text).Sub(claimed(b, unit))
			fits := int(max(min(room.Div(each[unit]).IntPart(), int64(n)), 0))
			if fits < most {
				most, bound = fits, fmt.Sprintf("budget %q (%s) covers no more at %s each", b.Name, amount.Words(unit, text), amount.Words(unit, each[unit].String()))
			}
		}
	}
	return most, bound
}
