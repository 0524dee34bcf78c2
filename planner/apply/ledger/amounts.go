// Package ledger keeps what a run spent and what it may still spend, so that
// nothing is started that could pass a budget or the approved ceiling.
package ledger

import (
	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
)

// units in the order of Amounts.
var units = [...]string{place.USD, place.ServiceUnits, place.GPUHours, place.CPUHours, place.NodeHours}

// Where a unit stands in Amounts. From gpuHours on it is measured rather
// than charged.
const (
	money    = 0
	gpuHours = 2
	cpuHours = 3
)

// Amounts are quantities by unit, in billionths: exact where decimals are,
// and cheap enough to sum at every submission.
type Amounts [len(units)]int64

const billionths = 9 // decimal places

// Add counts other amounts in, a number of times.
func (a *Amounts) Add(b Amounts, times int64) {
	for u := range a {
		a[u] += b[u] * times
	}
}

// Charge raises what is charged, money and service units, to what another
// amount holds of it.
func (a *Amounts) Charge(most Amounts) {
	for u := range gpuHours {
		a[u] = max(a[u], most[u])
	}
}

// Parse reads decimal texts, rounding up.
func Parse(m map[string]string) (a Amounts) {
	for u, name := range units {
		if d, err := decimal.NewFromString(m[name]); err == nil {
			a[u] = up(d)
		}
	}
	return a
}

func priced(cost map[string]decimal.Decimal) (a Amounts) {
	for u, name := range units {
		a[u] = up(cost[name])
	}
	return a
}

func up(d decimal.Decimal) int64 { return d.Shift(billionths).Ceil().IntPart() }

// Text is the amounts as the state keeps them; what is zero is left out.
func (a Amounts) Text() state.Amounts {
	out := state.Amounts{}
	for u, name := range units {
		if a[u] != 0 {
			out[name] = decimal.New(a[u], -billionths).String()
		}
	}
	return out
}

func billion(v int64) string { return decimal.New(v, -billionths).Round(4).String() }
