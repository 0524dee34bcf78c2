// Package ledger keeps the spending and the remaining ceilings of a run, so that nothing
// starts that could pass a budget or the approved ceiling.
package ledger

import (
	"math"
	"math/bits"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
)

// units in the order of Amounts.
var units = [...]string{place.USD, place.ServiceUnits, place.GPUHours, place.CPUHours, place.NodeHours}

// Where a unit belongs in Amounts. From gpuHours on it is measured rather
// than charged.
const (
	money        = 0
	serviceUnits = 1
	gpuHours     = 2
	cpuHours     = 3
	nodeHours    = 4
)

// Amounts are quantities by unit, in ninths of a billionth, and cheap enough to sum at every
// submission. An hour has 3,600 seconds: by ninths, decimal rates of up to five places times
// whole seconds are exact, so that three launches at a third of a dollar are a dollar. Larger
// amounts, from a thousand million of a unit, stay at beyond.
type Amounts [len(units)]int64

// beyond is more than any account covers.
const beyond = math.MaxInt64

const (
	perUnit = 9_000_000_000
	places  = 15 // decimal places of the text of an amount
)

// dust is the part of a ninth of a billionth by which text may be off that was
// rounded to so many places.
var dust = decimal.New(1, -2)

// Add counts other amounts in, a number of times.
func (a *Amounts) Add(b Amounts, times int64) {
	for u := range a {
		a[u] = plus(a[u], scaled(b[u], times))
	}
}

// Charge raises charged amounts, money and service units, to those of another.
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

var most = decimal.New(beyond, 0)

// up rounds up.
func up(d decimal.Decimal) int64 {
	if d = d.Mul(decimal.NewFromInt(perUnit)).Sub(dust).Ceil(); d.GreaterThan(most) {
		return beyond
	}
	return d.IntPart()
}

func plus(a, b int64) int64 {
	switch sum := a + b; {
	case a > 0 && b > 0 && sum < 0:
		return beyond
	case a < 0 && b < 0 && sum >= 0:
		return -beyond
	default:
		return sum
	}
}

func scaled(a, times int64) int64 {
	high, low := bits.Mul64(magnitude(a), magnitude(times))
	switch negative := (a < 0) != (times < 0); {
	case (high > 0 || low > beyond) && negative:
		return -beyond
	case high > 0 || low > beyond:
		return beyond
	case negative:
		return -int64(low)
	default:
		return int64(low)
	}
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return uint64(-v)
	}
	return uint64(v)
}

// Text is the amounts as the state keeps them, without zeros.
func (a Amounts) Text() state.Amounts {
	out := state.Amounts{}
	for u, name := range units {
		if a[u] != 0 {
			out[name] = exact(a[u]).String()
		}
	}
	return out
}

func exact(v int64) decimal.Decimal {
	return decimal.NewFromInt(v).DivRound(decimal.NewFromInt(perUnit), places)
}

// words is an amount of a unit as people write it.
func words(unit int, v int64) string {
	return amount.Words(units[unit], exact(v).String())
}
