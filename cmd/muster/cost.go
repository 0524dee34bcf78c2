package main

import (
	"context"
	"flag"

	"github.com/muster-run/muster/cmd/muster/page"
)

func costCommand() *command {
	return &command{
		name: "cost", short: "the ledger: what was spent, and what is billed right now", maxArgs: 0,
		long:     "Adds up what was really spent, attempt by attempt: by phase, backend and day, beside the budgets, and lists what is billed right now: rented machines and what\nruns, by the hour and since when, and who approved how much.",
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
				r := page.CostOf(c, st, a.now())
				if *asJSON {
					return a.encode(r)
				}
				a.printf("%s", r.Text())
				return nil
			}
		},
	}
}
