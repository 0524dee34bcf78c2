package fit

import "cmp"

// maxWork is the work of all fits of one plan, in numbers that a step of the search
// weighs for one point: some 25 ns each.
const maxWork = 400_000_000

// A Budget bounds the work of all fits of one plan. Once it is spent every Fit
// reports false. It counts, and asks no clock, so that a plan is the same on every
// machine. The zero value is the usual budget; nil has no end.
type Budget struct {
	Most int64 // 0 is 400 million, about 10 s
	work int64
}

// Spent reports whether no law is fitted any more.
func (b *Budget) Spent() bool { return b != nil && b.work > cmp.Or(b.Most, maxWork) }

func (b *Budget) spend(n int) {
	if b != nil {
		b.work += int64(n)
	}
}
