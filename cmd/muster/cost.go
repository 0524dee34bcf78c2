package main

import (
	"cmp"
	"context"
	"flag"
	"maps"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/view"
	"github.com/muster-run/muster/state"
)

func costCommand() *command {
	return &command{
		name: "cost", short: "the ledger: what was spent, and what is billed right now", maxArgs: 0,
		long:     "Adds up what was really spent, attempt by attempt: by phase, backend and day, beside the budgets, and lists what is billed right now.",
		examples: []example{{"muster cost", "the ledger"}, {"muster cost -json", "for a spreadsheet"}},
		setup: func(fs *flag.FlagSet) runFunc {
			var v varFlags
			v.register(fs)
			asJSON := fs.Bool("json", false, "print as JSON")
			return func(ctx context.Context, a *app, _ []string) error {
				c, st, err := a.open(ctx, v)
				if err != nil {
					return err
				}
				r := costOf(c, st)
				if *asJSON {
					return a.encode(r)
				}
				return a.printCost(c, r)
			}
		},
	}
}

// A costReport is the JSON of `muster cost -json`; amounts are decimal text.
type costReport struct {
	FormatVersion string                   `json:"format_version"`
	Campaign      string                   `json:"campaign"`
	Total         state.Amounts            `json:"total"`
	ByPhase       map[string]state.Amounts `json:"by_phase"`
	ByBackend     map[string]state.Amounts `json:"by_backend"`
	ByDay         map[string]state.Amounts `json:"by_day"`
	Unknown       int                      `json:"unknown"` // entries billed at an amount nobody knows
	Rentals       []state.Rental           `json:"rentals"`
	InFlight      int                      `json:"in_flight"`
}

func costOf(c *lang.Campaign, st *state.State) costReport {
	r := costReport{FormatVersion: formatVersion, Campaign: c.Name, Total: state.Amounts{},
		ByPhase: map[string]state.Amounts{}, ByBackend: map[string]state.Amounts{}, ByDay: map[string]state.Amounts{}, Rentals: []state.Rental{}}
	for _, e := range st.Ledger {
		if e.Unknown {
			r.Unknown++
		}
		addAmounts(r.Total, e.Spent)
		addAmounts(under(r.ByPhase, e.Phase), e.Spent)
		addAmounts(under(r.ByBackend, e.Backend), e.Spent)
		addAmounts(under(r.ByDay, e.At.Format("2006-01-02")), e.Spent)
	}
	for _, rental := range st.Rentals {
		r.Rentals = append(r.Rentals, rental)
	}
	slices.SortFunc(r.Rentals, func(a, b state.Rental) int { return strings.Compare(a.ID, b.ID) })
	r.InFlight = len(st.InFlight())
	return r
}

func under(m map[string]state.Amounts, key string) state.Amounts {
	if m[key] == nil {
		m[key] = state.Amounts{}
	}
	return m[key]
}

func addAmounts(to, from state.Amounts) {
	for unit, text := range from {
		d, err := decimal.NewFromString(text)
		if err != nil {
			continue
		}
		was, _ := decimal.NewFromString(cmp.Or(to[unit], "0"))
		to[unit] = was.Add(d).String()
	}
}

func (a *app) printCost(c *lang.Campaign, r costReport) error {
	units := unitsOf(r.Total)
	if len(r.ByPhase) == 0 {
		a.printf("Nothing was spent yet.\n")
	} else {
		a.costTable("by phase", r.ByPhase, r.Total, units)
		a.costTable("by backend", r.ByBackend, r.Total, units)
		if len(r.ByDay) > 1 {
			a.costTable("by day", r.ByDay, r.Total, units)
		}
	}
	if len(c.Budgets) > 0 && len(r.ByPhase) > 0 {
		a.printf("\n")
	}
	for _, b := range c.Budgets {
		for _, unit := range sortedKeys(b.Limits) {
			a.printf("  budget %q: %s of %s\n", b.Name, orZero(unit, r.Total[unit]), view.Amount(unit, b.Limits[unit]))
		}
	}
	if r.Unknown > 0 {
		a.printf("  %s billed at an amount that is not known; each counts at its ceiling.\n", plural(r.Unknown, "attempt"))
	}
	if len(r.Rentals) == 0 {
		a.printf("\n  Billed right now: nothing rented, %s in flight.\n", plural(r.InFlight, "job"))
	}
	for _, rental := range r.Rentals {
		a.printf("  Billed right now: %s on %s, $%s/h since %s\n", rental.ID, rental.Backend, rental.PerHour, rental.Since.Local().Format("2006-01-02 15:04"))
	}
	return nil
}

func orZero(unit, text string) string { return cmp.Or(view.Amount(unit, text), "nothing") }

func unitsOf(total state.Amounts) []string {
	var out []string
	for _, u := range []string{"usd", "service_units", "gpu_hours", "cpu_hours", "node_hours"} {
		if view.Amount(u, total[u]) != "" {
			out = append(out, u)
		}
	}
	return out
}

func (a *app) costTable(title string, rows map[string]state.Amounts, total state.Amounts, units []string) {
	t := term.Table{Indent: "  ", Align: slices.Repeat([]term.Align{term.Right}, len(units)+1)}
	t.Align[0] = term.Left
	row := func(name string, amounts state.Amounts) {
		cells := []string{name}
		for _, u := range units {
			cells = append(cells, cmp.Or(view.Amount(u, amounts[u]), "–"))
		}
		t.Row(cells...)
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		row(cmp.Or(name, "other"), rows[name])
	}
	row("total", total)
	a.printf("\n  %s\n%s", title, t.String())
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
