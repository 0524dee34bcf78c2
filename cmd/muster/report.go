package main

import (
	"context"
	"flag"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
)

func reportCommand(a *app) *command.Command {
	return &command.Command{
		Name: "report", Args: "[ADDR…]", Short: "report what happened, as Markdown, JSON or CSV", MaxArgs: -1,
		Long: `Reports what the campaign did: jobs, attempts, failures, times, spending and results. -csv has one row a job with axes and
metrics as columns, ready for a data frame.`,
		Examples: []command.Example{{"muster report", "Markdown, for a notebook"}, {"muster report -csv phase.students", "one row a job"}},
		Setup: func(fs *flag.FlagSet) command.Run {
			var v varFlags
			v.register(fs)
			asJSON := fs.Bool("json", false, "print as JSON")
			asCSV := fs.Bool("csv", false, "print CSV, one row a job")
			return func(ctx context.Context, args []string) error {
				c, st, s, err := a.openFor(ctx, v, args)
				if err != nil {
					return err
				}
				r := page.ReportOf(c, st, s)
				switch {
				case *asJSON:
					return a.encode(r)
				case *asCSV:
					return r.CSV(a.stdout)
				}
				a.printf("%s", r.Markdown(a.out))
				return nil
			}
		},
		Complete: a.jobAddresses,
	}
}
