package warnings

import (
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// shownOffers is how many offers of a backend a plan lists.
const shownOffers = 3

// Offers are the machines of a backend that may be rented for a plan, those of its pools
// first, and then others as alternatives: the expected cost of the plan on each, and its
// advantages.
func Offers(used [][2]string, pools []offer.Pool, by map[string][]forecast.CostLine) (notes []string) {
	var backends []string
	for _, at := range used {
		if !slices.Contains(backends, at[0]) {
			backends = append(backends, at[0])
		}
	}
	for _, backend := range backends {
		list := listed(backend, used, pools)
		if len(list) == 0 {
			continue
		}
		for n, l := range list[:min(shownOffers, len(list))] {
			notes = append(notes, fmt.Sprintf("offer %d: %s, %s%s, %s.", n+1, l.pool, amount.Hourly(l.USDPerHour), l.expected(list[0].priced, forecast.LineOf(by[backend], place.USD)), l.Text))
		}
		notes = append(notes, fmt.Sprintf("backend.%s asks for the price again before it rents: a machine over a tenth dearer than the plan shows is not rented.", backend))
	}
	return notes
}

// A listing is an offer of a pool.
type listing struct {
	offer.Listing
	pool   string
	used   bool            // the plan goes to the pool
	priced decimal.Decimal // the plan's price of an hour on the pool
}

// listed are the offers of a backend: of pools that a plan uses before others, and cheap
// ones before dear ones.
func listed(backend string, used [][2]string, pools []offer.Pool) (list []listing) {
	for i := range pools {
		p := &pools[i]
		for _, o := range p.Offers {
			if p.Backend == backend {
				list = append(list, listing{o, p.Name, slices.Contains(used, [2]string{p.Backend, p.Name}), amount.Of(p.Price.USDPerHour)})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b listing) int {
		if a.used != b.used {
			return map[bool]int{true: -1, false: 1}[a.used]
		}
		return amount.Of(a.USDPerHour).Cmp(amount.Of(b.USDPerHour))
	})
	if len(list) > 0 && !list[0].used {
		return nil
	}
	return list
}

// expected is the cost at this offer's price of a plan that counts with another, ""
// where it is unknown. Of another pool nobody knows how fast it is.
func (l listing) expected(priced decimal.Decimal, usd forecast.CostLine) string {
	if usd.Expected.Text == "" || usd.Expected.Mark == forecast.Unknown || !priced.IsPositive() {
		return ""
	}
	about := amount.Words(place.USD, amount.Of(usd.Expected.Text).Mul(amount.Of(l.USDPerHour)).Div(priced).String())
	if !l.used {
		return fmt.Sprintf(" (about %s for this plan, if jobs take as long there)", about)
	}
	return fmt.Sprintf(" (about %s for this plan)", about)
}
