package main

import (
	"context"
	"flag"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/advice"
	"github.com/muster-run/muster/state"
)

func reportCommand(a *app) *command.Command {
	return &command.Command{
		Name: "report", Args: "[ADDR…]", Short: "report what happened, as Markdown, JSON or CSV", MaxArgs: -1,
		Long: `Reports what the campaign did: jobs, attempts, failures, times, spending and results. -csv has one row a job with axes and
metrics as columns, ready for a data frame. -rounds reports on phases with a trial block: objective, rounds, stages, recommendations for
CPU and GPU work, memory, the next configuration, commits and notes, and the next round.`,
		Examples: []command.Example{{"muster report", "Markdown, for a notebook"}, {"muster report -csv phase.students", "one row a job"}},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			asJSON := fs.Bool("json", false, "print as JSON")
			asCSV := fs.Bool("csv", false, "print CSV, one row a job")
			asRounds := fs.Bool("rounds", false, "print the report of an optimisation in rounds, in eight sections")
			return func(ctx context.Context, args []string) error {
				c, st, s, err := a.openFor(ctx, v, args)
				if err != nil {
					return err
				}
				r := page.ReportOf(c, st, s)
				if *asRounds {
					return a.reportRounds(c, st, r)
				}
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

// reportRounds prints the report of an optimisation.
func (a *app) reportRounds(c *lang.Campaign, st *state.State, r page.Report) error {
	if len(r.Rounds) == 0 {
		return command.Usagef("no phase of the campaign has a trial block, so there is no round to report on: write one in each phase that is a round, as `trial` of the language reference shows")
	}
	a.printf("%s", page.RoundsMarkdown(r, advice.Of(advice.Input{Campaign: c, State: st}), a.out))
	return nil
}
