package ledger

import (
	"math/bits"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/state"
)

// Dues bound the cost still to come of a job: one launch at its full walltime,
// and how many launches it has left.
type Dues struct {
	One  state.Amounts // of a launch, as recorded with its attempt
	Each Amounts       // the same
	Left int64
	// Steps are the launches where retries scale, first to last; nil: Each.
	Steps []Amounts
	// Waited is the extra cost of the current launch where the wait is billed and
	// lasts longer than quoted.
	Waited Amounts
	// Open are the units in which nothing bounds a launch.
	Open [len(units)]bool
	// Rise is by how much bills of like launches were above their rates.
	Rise Rise
}

// A Rise is a factor above 1 by which bills exceed the rates; the zero value is
// none.
type Rise struct{ Billed, Rated int64 }

// Rises reports whether bills exceed the rates.
func (r Rise) Rises() bool { return r.Billed > r.Rated && r.Rated > 0 }

// of raises charged amounts, money and service units, rounding up.
func (r Rise) of(a Amounts) Amounts {
	if !r.Rises() {
		return a
	}
	for u := range gpuHours {
		a[u] = r.up(a[u])
	}
	return a
}

func (r Rise) up(v int64) int64 {
	if v <= 0 {
		return v
	}
	high, low := bits.Mul64(uint64(v), uint64(r.Billed))
	low, carry := bits.Add64(low, uint64(r.Rated)-1, 0)
	if high += carry; high >= uint64(r.Rated) {
		return beyond
	}
	if v, _ := bits.Div64(high, low, uint64(r.Rated)); v <= beyond {
		return int64(v)
	}
	return beyond
}

// Factor is the rise, rounded up to six digits; 1 for none.
func (r Rise) Factor() decimal.Decimal {
	if !r.Rises() {
		return decimal.NewFromInt(1)
	}
	return decimal.NewFromInt(r.Billed).DivRound(decimal.NewFromInt(r.Rated), 12).RoundCeil(6)
}

// RiseTo is the rise from rates at was times a pool's quote to bills at factor times that
// quote.
func RiseTo(factor, was decimal.Decimal) Rise {
	scaled := func(d decimal.Decimal) int64 {
		if d = d.Shift(6).Ceil(); d.GreaterThan(decimal.NewFromInt(beyond)) {
			return beyond
		}
		return d.IntPart()
	}
	return Rise{Billed: scaled(factor), Rated: scaled(was)}
}

// Next is the most that the next launch may cost.
func (d *Dues) Next() (a Amounts) {
	a = d.Each
	if at := len(d.Steps) - int(d.Left); d.Steps != nil && at >= 0 && at < len(d.Steps) {
		a = d.Steps[at]
	}
	a.Add(d.Waited, 1)
	return d.Rise.of(a)
}

// Rest is the most that all remaining launches may cost.
func (d *Dues) Rest() (a Amounts) {
	if d.Left > 0 {
		a = d.Waited
	}
	if d.Steps == nil || int(d.Left) > len(d.Steps) {
		a.Add(d.Each, d.Left)
		return d.Rise.of(a)
	}
	for _, s := range d.Steps[len(d.Steps)-int(d.Left):] {
		a.Add(s, 1)
	}
	return d.Rise.of(a)
}
