package main

import (
	"context"
	"flag"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
)

func costCommand(a *app) *command.Command {
	return &command.Command{
		Name: "cost", Short: "show the ledger: past spending and current bills", MaxArgs: 0,
		Long: `Adds up the recorded cost of every attempt by phase, backend and day, beside the budgets. It also lists the current
bills (rented machines and running jobs, with their rate and start) and who approved how much.`,
		Examples: []command.Example{{"muster cost", "the ledger"}, {"muster cost -json", "for a spreadsheet"}},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			asJSON := fs.Bool("json", false, "print as JSON")
			return func(ctx context.Context, _ []string) error {
				c, st, err := a.open(ctx, v)
				if err != nil {
					return err
				}
				r := page.CostOf(c, st, a.now().Local())
				if *asJSON {
					return a.encode(r)
				}
				a.printf("%s", r.Text(max(a.out.Width, 60), a.out.Row))
				return nil
			}
		},
	}
}
