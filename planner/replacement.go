package planner

import (
	"fmt"
	"maps"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/providers/offer"
)

// replacements propose another offer for each machine that was taken away from its jobs.
func replacements(fs *facts) (rows []Row) {
	jobs := map[string]int{} // by machine
	lost := map[string]offer.Observation{}
	for _, o := range fs.in.Observed.Jobs {
		if o.Cause == offer.MachineAway && o.Rental != nil && fs.st.Rentals[o.Rental.ID].Rented() {
			jobs[o.Rental.ID]++
			lost[o.Rental.ID] = o
		}
	}
	for _, id := range slices.Sorted(maps.Keys(lost)) {
		o := lost[id]
		row := Row{Kind: Move, Address: id, Backend: fs.st.Rentals[id].Backend, PerHour: o.Rental.Rate}
		row.Detail.Text = fmt.Sprintf("%s on it: %s; %s", amount.Jobs(jobs[id]), o.Reason, cheapest(fs.in.Pools, row.Backend))
		rows = append(rows, row)
	}
	return rows
}

// cheapest is the best offer of a backend now, in words.
func cheapest(pools []offer.Pool, backend string) string {
	var best *offer.Listing
	var pool string
	rate := func(l *offer.Listing) decimal.Decimal { return amount.Of(l.USDPerHour) }
	for _, p := range pools {
		for i := range p.Offers {
			if p.Backend == backend && (best == nil || rate(&p.Offers[i]).LessThan(rate(best))) {
				best, pool = &p.Offers[i], p.Name
			}
		}
	}
	if best == nil {
		return "nothing that fits is offered now"
	}
	return fmt.Sprintf("the best offer now is %s at %s, %s", pool, amount.Hourly(best.USDPerHour), best.Text)
}
