package main

import (
	"context"
	"flag"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/cmd/muster/plugins"
	"github.com/muster-run/muster/cmd/muster/preview"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner/explain"
)

func explainCommand(a *app) *command.Command {
	return &command.Command{
		Name: "explain", Args: "ADDR", Short: "explain one job: its action, its candidates, and why it waits", MinArgs: 1, MaxArgs: 1,
		Long: `Shows everything a plan knows about one job: its action and the reasons, the fields that determine its result, every candidate
place with its figures and why it was chosen or not, and why the job waits.`,
		Examples: []command.Example{{"muster explain seed=42,N=384,n=50000", "one student"}, {"muster explain phase.figure", "a phase without a grid"}, {"muster explain -command seed=42 > job.sh", "what would run, ready to paste"}},
		Setup: func(fs *flag.FlagSet) command.Action {
			var p planFlags
			p.varFlags.register(fs)
			fs.BoolVar(&p.refresh, "refresh", true, "ask the backends; -refresh=false trusts the state")
			asJSON := fs.Bool("json", false, "print as JSON")
			command := fs.Bool("command", false, "print the job as a script for /bin/sh: directory, environment, setup and command; secrets by name")
			return func(ctx context.Context, args []string) error {
				p.about = args
				w, err := a.plan(ctx, p)
				if err != nil {
					return err
				}
				defer w.close()
				x, err := a.explain(w, args[0])
				if err != nil {
					return err
				}
				if *command {
					return a.printCommand(w, x)
				}
				if *asJSON {
					return a.encode(page.ExplanationOf(x))
				}
				a.printf("%s", page.ExplanationText(x, page.BackendStatus(w.input.Observed, x.Detail.State, a.now()), max(a.out.Width, 60)))
				a.fail(w.diags)
				return nil
			}
		},
		Complete: a.jobAddresses,
	}
}

// printCommand prints the command of a job.
func (a *app) printCommand(w *work, x explain.Job) error {
	v := preview.Preview{Campaign: w.campaign, Plan: w.plan, Pools: w.input.Pools, Scripters: plugins.Scripters(w.campaign.Backends)}
	text, diags := v.Command(w.plan.Phase(x.Phase), x.Cell, x.Decision)
	if err := a.report(diags); err != nil {
		return err
	}
	if a.out.TTY {
		text = term.Clean(text)
	}
	a.printf("%s", text)
	return nil
}

func (a *app) explain(w *work, arg string) (explain.Job, error) {
	address, err := a.chooseOne(w.campaign, w.state, arg)
	if err != nil {
		return explain.Job{}, err
	}
	job, err := addr.Parse(address)
	if err != nil {
		return explain.Job{}, err
	}
	for _, p := range w.campaign.Phases {
		if cell, ok := p.Index(job.Key); ok && p.Name == job.Phase {
			return explain.Of(w.plan, w.input, p.Name, cell)
		}
	}
	return explain.Job{}, command.Usagef("%s is no longer in the campaign; muster state show prints its record", address)
}
