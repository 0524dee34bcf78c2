package warnings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// Unheld says what submitted jobs may still cost where a backend cannot hold them
// in its queue: a budget that is lowered, or a price that rises, stops none of
// them.
func Unheld(budgets []lang.Budget, atMost map[string][]forecast.CostLine, can map[string]offer.Capabilities) (notes []string) {
	limited := map[string]bool{}
	for _, b := range budgets {
		for unit := range b.Limits {
			limited[unit] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(atMost)) {
		typ, _, _ := strings.Cut(name, ".")
		if c, known := can[typ]; !known || c.Holds {
			continue
		}
		var may []string
		for _, l := range atMost[name] {
			switch {
			case !limited[l.Unit] && (l.Unit != place.USD && l.Unit != place.ServiceUnits):
			case l.AtMost.Mark == forecast.Unknown:
				may = append(may, "an unknown amount of "+amount.Unit(l.Unit))
			case !amount.Of(l.AtMost.Text).IsZero():
				may = append(may, amount.Words(l.Unit, l.AtMost.Text))
			}
		}
		if len(may) > 0 {
			notes = append(notes, fmt.Sprintf("backend.%s cannot hold queued jobs: jobs submitted there may still cost up to %s, also when a budget is lowered or a price rises.", name, strings.Join(may, " and ")))
		}
	}
	return notes
}

// Held says how many queued jobs a limit holds.
func Held(n int) []string {
	switch n {
	case 0:
		return nil
	case 1:
		return []string{"1 queued job is held by a budget or an approved ceiling: this apply lets it start when it fits."}
	}
	return []string{fmt.Sprintf("%d queued jobs are held by a budget or an approved ceiling: this apply lets them start as far as they fit.", n)}
}

// Risen says which pools billed more than they quote.
func Risen(rises map[place.PoolAt]place.Rise, used [][2]string) (notes []string) {
	for _, at := range used {
		if r, ok := rises[place.PoolAt{Backend: at[0], Pool: at[1]}]; ok {
			notes = append(notes, fmt.Sprintf("backend.%s billed %s times its quotes: the plan uses that price.", strings.TrimSuffix(at[0]+", "+at[1], ", "), r.Factor))
		}
	}
	return notes
}
