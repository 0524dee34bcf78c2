package main

import (
	"context"
	"flag"
	"maps"
	"slices"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/advice"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/state"
)

func adviseCommand(a *app) *command.Command {
	return &command.Command{
		Name: "advise", Short: "compare what jobs requested and used, and name the line to change", MaxArgs: 0,
		Long: `Compares what jobs requested with what they used, phase by phase: memory, cores, GPUs, walltime; and separates queue, run and
retry time. Where a request is far off, it names the line to change, the value with its margin, and the saving. It changes
nothing: edit the campaign, and the next plan shows the difference.

It asks the backends only for their pools and prices; -refresh=false asks nobody and leaves prices out.`,
		Examples: []command.Example{{"muster advise", "after the first round"}, {"muster advise -json", "for a script"}},
		Setup: func(fs *flag.FlagSet) command.Run {
			var v varFlags
			v.register(fs)
			ask := fs.Bool("refresh", true, "ask the backends for their pools and prices; -refresh=false does not")
			asJSON := fs.Bool("json", false, "print as JSON")
			return func(ctx context.Context, _ []string) error {
				c, st, err := a.open(ctx, v)
				if err != nil {
					return err
				}
				in := advice.Input{Campaign: c, State: st}
				var away map[string]string
				if *ask {
					away = a.askPools(ctx, c, st, &in)
				}
				r, ok := unlessInterrupted(ctx, func() advice.Report { return advice.Of(in) })
				if !ok {
					return errInterrupted
				}
				for _, name := range slices.Sorted(maps.Keys(away)) {
					r.Notes = append(r.Notes, "backend."+name+" cannot be asked, and its prices are left out: "+away[name])
				}
				if *asJSON {
					return a.encode(page.AdviceOf(c.Name, r))
				}
				a.printf("%s", page.AdviceText(r, min(max(a.out.Width, 60), term.MaxWidth), a.out.Row))
				return nil
			}
		},
	}
}

// askPools asks the backends what pools they have; it tells which could not be
// asked, and why.
func (a *app) askPools(ctx context.Context, c *lang.Campaign, st *state.State, in *advice.Input) map[string]string {
	w := &work{launcher: a.launcher()}
	defer w.close()
	seen := refresh.Observe(ctx, refresh.Input{Campaign: c, State: st, Provider: w.provider(ctx), Now: a.now(), Waiting: a.waiting, Reads: a.guard.Reads})
	in.Pools = seen.Pools
	return seen.Observed.Unreachable
}
