package planner

import (
	"strings"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/place"
)

// An overflowBill is the most that launches may be charged.
type overflowBill struct {
	usd, serviceUnits     decimal.Decimal
	unpriced, unpricedSUs bool // the charge of some is unknown
}

// plus adds so many launches on a place.
func (b overflowBill) plus(d place.Decision, jobs int) overflowBill {
	cost, known := place.AtMost(d.Shape, d.Price, d.Around(), d.Hold)
	n := decimal.NewFromInt(int64(jobs))
	return overflowBill{b.usd.Add(cost[place.USD].Mul(n)), b.serviceUnits.Add(cost[place.ServiceUnits].Mul(n)),
		b.unpriced || !known.USD && jobs > 0, b.unpricedSUs || !known.ServiceUnits && jobs > 0}
}

// under tells whether a bill is less in one unit and more in none.
func (b overflowBill) under(o overflowBill) bool {
	return b.known() && o.known() && b.usd.LessThanOrEqual(o.usd) && b.serviceUnits.LessThanOrEqual(o.serviceUnits) &&
		(b.usd.LessThan(o.usd) || b.serviceUnits.LessThan(o.serviceUnits))
}

func (b overflowBill) known() bool { return !b.unpriced && !b.unpricedSUs }

func (b overflowBill) String() string {
	if b.unpriced {
		return "a price that is not known"
	}
	var parts []string
	if !b.usd.IsZero() {
		parts = append(parts, amount.Words(place.USD, b.usd.String()))
	}
	switch {
	case b.unpricedSUs:
		parts = append(parts, "service units that are not known")
	case !b.serviceUnits.IsZero():
		parts = append(parts, amount.Words(place.ServiceUnits, b.serviceUnits.String()))
	}
	if len(parts) == 0 {
		return "$0"
	}
	return strings.Join(parts, " and ")
}
