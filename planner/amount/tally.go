package amount

import (
	"math"
	"strings"

	"github.com/shopspring/decimal"
)

// A Tally adds up decimal texts exactly. Amounts of the ledger are short, so
// that whole numbers by their count of decimal places will do for nearly all;
// the rest is added as decimals.
type Tally struct {
	by   [19]int64 // sums of digits, by decimal places
	rest decimal.Decimal
}

func (t *Tally) Add(text string) {
	n, places, ok := plainDigits(text)
	if sum := t.by[places] + n; ok && sum >= t.by[places] {
		t.by[places] = sum
		return
	}
	t.rest = t.rest.Add(Of(text))
}

func (t *Tally) Total() decimal.Decimal {
	out := t.rest
	for places, n := range t.by {
		if n != 0 {
			out = out.Add(decimal.New(n, -int32(places)))
		}
	}
	return out
}

// plainDigits reads an amount of few digits, without a sign or an exponent.
func plainDigits(text string) (n int64, places int, ok bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	if len(whole) == 0 || len(whole)+len(fraction) > 18 {
		return 0, 0, false
	}
	for _, part := range [...]string{whole, fraction} {
		for i := range len(part) {
			d := part[i] - '0'
			if d > 9 || n > math.MaxInt64/10-9 {
				return 0, 0, false
			}
			n = n*10 + int64(d)
		}
	}
	return n, len(fraction), true
}
