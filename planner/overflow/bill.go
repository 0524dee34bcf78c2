package overflow

import (
	"strings"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/place"
)

// A bill is what launches may be charged at most.
type bill struct {
	usd, serviceUnits decimal.Decimal
	unknown           bool // no price is known for some of them
}

// plus adds so many launches on a place.
func (b bill) plus(d place.Decision, jobs int) bill {
	cost, known := place.AtMost(d.Shape, d.Price, d.WholeNode, d.Around(), d.Hold)
	n := decimal.NewFromInt(int64(jobs))
	return bill{b.usd.Add(cost[place.USD].Mul(n)), b.serviceUnits.Add(cost[place.ServiceUnits].Mul(n)), b.unknown || !known && jobs > 0}
}

// under tells whether a bill is less in one unit and more in none.
func (b bill) under(o bill) bool {
	return !b.unknown && !o.unknown && b.usd.LessThanOrEqual(o.usd) && b.serviceUnits.LessThanOrEqual(o.serviceUnits) &&
		(b.usd.LessThan(o.usd) || b.serviceUnits.LessThan(o.serviceUnits))
}

func (b bill) String() string {
	if b.unknown {
		return "a price that is not known"
	}
	var parts []string
	if !b.usd.IsZero() {
		parts = append(parts, amount.Words(place.USD, b.usd.String()))
	}
	if !b.serviceUnits.IsZero() {
		parts = append(parts, amount.Words(place.ServiceUnits, b.serviceUnits.String()))
	}
	if len(parts) == 0 {
		return "$0"
	}
	return strings.Join(parts, " and ")
}
