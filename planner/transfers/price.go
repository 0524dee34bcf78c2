package transfers

import (
	"cmp"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
)

// A Cost is the cost of a transfer where its origin bills egress.
type Cost struct {
	PerGB string // money for 10^9 bytes
	// Expected and AtMost are "" where nobody knows how large the files will be.
	// Of files that are still to be made they are guessed from those made before.
	Expected, AtMost string
	Guessed          bool
}

// Price says what a transfer costs at a rate; made are the records of the
// phase that makes its files, by cell.
func (t *Transfer) Price(rate decimal.Decimal, made []*state.Job) {
	if !rate.IsPositive() {
		return
	}
	t.Cost = &Cost{PerGB: rate.String()}
	mean, most := t.Bytes, t.Bytes
	if t.Bytes < 0 {
		each, largest, n := sizes(made, t.Output)
		if n == 0 {
			return
		}
		t.Cost.Guessed = true
		mean, most = each*int64(len(t.Cells)), largest*int64(len(t.Cells))
	}
	t.Cost.Expected, t.Cost.AtMost = place.Leaving(rate, mean).String(), place.Leaving(rate, most).String()
}

// sizes are those of an output as it was made so far: the mean and the largest.
func sizes(made []*state.Job, output string) (mean, largest int64, n int64) {
	var sum int64
	for _, j := range made {
		if j == nil || j.Smoke {
			continue
		}
		for k := range j.Outputs {
			if o := &j.Outputs[k]; o.Name == output && !o.Missing {
				sum, largest, n = sum+o.Size, max(largest, o.Size), n+1
			}
		}
	}
	return sum / cmp.Or(n, 1), largest, n
}
