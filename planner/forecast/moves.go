package forecast

import (
	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner/place"
)

// A Move is the cost in money of files that leave a backend. Amounts are
// decimal text, "" where they are not known.
type Move struct {
	Phase            string // whose files they are
	Backend, Pool    string // that they leave
	Expected, AtMost string
	Mark             Mark
}

func (s sums) move(m Move) {
	if m.Expected == "" {
		for i := range [...]int{expected, p90, atMost} {
			s.at(place.USD).plus(i, decimal.Zero, Unknown)
		}
		return
	}
	mean, _ := decimal.NewFromString(m.Expected)
	most, _ := decimal.NewFromString(m.AtMost)
	s.at(place.USD).plus(expected, mean, m.Mark)
	s.at(place.USD).plus(p90, most, m.Mark)
	s.at(place.USD).plus(atMost, most, m.Mark)
}
