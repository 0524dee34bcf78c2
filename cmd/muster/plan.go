package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"time"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/kept"
	"github.com/muster-run/muster/cmd/muster/preview"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/planner/apply/simulated"
	"github.com/muster-run/muster/planner/checklist"
	"github.com/muster-run/muster/planner/planfile"
	"github.com/muster-run/muster/planner/view"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/launch"
	"github.com/muster-run/muster/providers/sim"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store/file"
)

// planFlags are what plan and apply without a saved plan have in common.
type planFlags struct {
	varFlags
	targets, rerun, accept texts
	refresh, refreshOnly   bool
	destroy, verify        bool
	outputs                bool // with destroy: recorded outputs, too
	verbose                bool
	reason                 string
	lockTimeout            time.Duration
	glance                 bool // where nothing changed, it is enough to say so
	text, file             bool // how: to people, and in a file or as JSON
	json                   bool // a campaign that cannot be read is told as JSON, too
}

// plain reports whether a plan is asked for as it is, of everything.
func (p *planFlags) plain() bool {
	return len(p.targets)+len(p.rerun)+len(p.accept) == 0 && !p.refreshOnly && !p.destroy && !p.verify && !p.verbose && p.reason == ""
}

func (p *planFlags) register(fs *flag.FlagSet) {
	p.varFlags.register(fs)
	fs.Var(&p.targets, "target", "plan only the jobs that `ADDR` selects (repeatable; globs over axes, or a unique suffix such as seed=42)")
	fs.Var(&p.rerun, "rerun", "run the jobs that `ADDR` selects again (repeatable)")
	fs.Var(&p.accept, "accept", "let the completed jobs that `ADDR` selects stand although they changed (repeatable)")
	fs.BoolVar(&p.refresh, "refresh", true, "ask the backends what became of jobs; -refresh=false believes the state")
	fs.BoolVar(&p.refreshOnly, "refresh-only", false, "say what happened since the state was written and plan nothing; with apply, record it")
	fs.BoolVar(&p.destroy, "destroy", false, "plan to cancel and release everything")
	fs.BoolVar(&p.verify, "verify", false, "open every recorded output again, instead of comparing size and times")
	fs.BoolVar(&p.verbose, "verbose", false, "show every job")
	fs.StringVar(&p.reason, "reason", "", "why, kept with the plan: `TEXT`")
	fs.DurationVar(&p.lockTimeout, "lock-timeout", 0, "wait this long for the state lock (`DURATION`, such as 30s)")
}

// check refuses combinations that mean nothing.
func (p *planFlags) check() error {
	switch {
	case p.refreshOnly && p.destroy:
		return command.Usagef("-refresh-only plans nothing and -destroy plans to cancel: choose one")
	case p.refreshOnly && !p.refresh:
		return command.Usagef("-refresh-only asks the backends and -refresh=false does not: choose one")
	case p.refreshOnly && len(p.rerun)+len(p.accept) > 0:
		return command.Usagef("-refresh-only plans nothing: leave -rerun and -accept out")
	}
	return nil
}

func planCommand(a *app) *command.Command {
	return &command.Command{
		Name: "plan", Short: "show what would be done, what it would cost and how long it would take", MaxArgs: 0,
		Long: `Reads the campaign and its state, asks the backends what they see, and shows what would be done and why, what it would
cost expected, at the 90th percentile and at most, and how long it would take. It spends nothing and starts nothing.

With -out the plan is saved, so that exactly what was reviewed can be applied.`,
		Examples: []command.Example{
			{"muster plan -out=paper.mplan", "review, then do exactly this"},
			{"muster plan -target=seed=42 -detailed-exitcode", "only one seed; exit 2 when there is work"},
		},
		Exits: []command.Exit{command.Changes, command.Budget, command.Locked},
		Setup: func(fs *flag.FlagSet) command.Run {
			var p planFlags
			p.register(fs)
			out := fs.String("out", "", "save the plan to `FILE`")
			asJSON := fs.Bool("json", false, "print the plan as JSON")
			jsonInto := fs.String("json-into", "", "write the plan as JSON to `FILE` as well")
			markdown := fs.Bool("markdown", false, "print the plan as Markdown, for a merge request")
			detailed := fs.Bool("detailed-exitcode", false, "exit 0 when there is nothing to do, 2 when there is")
			scripts := fs.Bool("show-scripts", false, "print the commands and scripts that would be submitted, and for Slurm the ten-point check list")
			return func(ctx context.Context, _ []string) error {
				if err := p.check(); err != nil {
					return err
				}
				if p.refreshOnly && *out != "" {
					return command.Usagef("-refresh-only plans nothing that could be saved; muster apply -refresh-only records what happened")
				}
				o := planOutput{out: *out, json: *asJSON, jsonInto: *jsonInto, markdown: *markdown, detailed: *detailed, scripts: *scripts, verbose: p.verbose}
				p.json = o.json
				p.glance, p.text, p.file = p.plain() && !o.scripts, o.people(), o.json || o.jsonInto != "" || o.out != ""
				w, err := a.plan(ctx, p)
				if err != nil {
					return err
				}
				defer w.close()
				return a.showPlan(w, o)
			}
		},
	}
}

// work is a plan with everything it was made from, and the provider
// processes that are up.
type work struct {
	campaign  *lang.Campaign
	state     *state.State
	plan      *planner.Plan
	input     planner.Input
	diags     diag.List
	launcher  *launch.Launcher
	simulated *simulated.World  // nil when something real is declared
	versions  map[string]string // of providers, by type
	shown     *kept.Forms       // how it looks, if that is known; nil: as it is
}

func (w *work) close() {
	if w.launcher != nil {
		w.launcher.Close()
	}
}

// provider is what the engine asks for a backend type.
func (w *work) provider(ctx context.Context) func(string) (providers.Provider, error) {
	return func(typ string) (providers.Provider, error) {
		if typ == sim.Type && w.simulated != nil {
			return w.simulated.Sim, nil
		}
		return w.launcher.Provider(ctx, typ)
	}
}

// plan loads, observes and plans; errors in the campaign are printed and end
// the command.
func (a *app) plan(ctx context.Context, p planFlags) (*work, error) {
	q := a.asked(p)
	early := q.ReadEarly(ctx, p.glance)
	if p.glance {
		if shown, st := q.Again(ctx, early, p.text, p.file); shown != nil {
			if s, err := file.Open(early.Path, file.Options{}); err == nil {
				a.noteGone(ctx, s)
			}
			return &work{plan: &planner.Plan{}, state: st, shown: shown}, nil
		}
	}
	c, diags := a.load(p.varFlags, false)
	if err := a.report(diags); err != nil {
		if p.json {
			return nil, errors.Join(a.unplanned(diags), err)
		}
		return nil, err
	}
	s, err := a.store(c)
	if err != nil {
		return nil, err
	}
	if seen := early.Seen(s); seen != nil {
		if k := q.Stand(ctx, c, seen, !a.warned); k != nil {
			a.noteGone(ctx, s)
			return &work{campaign: c, state: seen.State, plan: k.Plan, input: k.Input, diags: k.Diags, versions: k.Versions, shown: k.Forms}, nil
		}
	}
	st, err := early.State(ctx, s)
	if err != nil {
		return nil, err
	}
	a.noteGone(ctx, s)
	return a.planWith(ctx, c, st, p)
}

// unplanned prints what takes the place of a plan as JSON where the campaign
// cannot be read.
func (a *app) unplanned(diags diag.List) error {
	return a.encode(map[string]any{"format_version": planfile.FormatVersion, "type": "plan", "valid": false, "diagnostics": diag.ToJSON(diags, a.sources)})
}

// planWith plans against a state that is already open.
func (a *app) planWith(ctx context.Context, c *lang.Campaign, st *state.State, p planFlags) (*work, error) {
	w := &work{campaign: c, state: st, launcher: a.launcher()}
	now := a.now()
	if w.simulated = simulated.Of(c, st, now); w.simulated != nil {
		now = w.simulated.Clock.Now()
	}
	w.input = planner.Input{Campaign: c, State: st, Now: now, Options: planner.Options{
		Targets: p.targets, Rerun: p.rerun, Accept: p.accept, Destroy: p.destroy, Outputs: p.outputs,
		RefreshOnly: p.refreshOnly, Reason: p.reason,
	}}
	seen := refresh.Observe(ctx, refresh.Input{
		Campaign: c, State: st, Provider: w.provider(ctx), Options: w.input.Options, Now: w.input.Now,
		Cache: a.cacheDir(), Refresh: p.refresh, Verify: p.verify, Preflight: p.refresh && !p.destroy && !p.refreshOnly, Copies: p.refresh && !p.destroy,
		Waiting: a.waiting,
	})
	w.input.Observed, w.input.Pools, w.input.Quotes, w.input.Can = seen.Observed, seen.Pools, seen.Quotes, seen.Can
	w.versions = seen.Versions
	diags := seen.Diags
	plan, more := planner.Make(w.input)
	diags.Append(more...)
	w.plan, w.diags = plan, diags
	if ctx.Err() != nil {
		w.close()
		return nil, errInterrupted
	}
	return w, nil
}

type planOutput struct {
	out, jsonInto                              string
	json, markdown, detailed, scripts, verbose bool
}

// people reports whether the plan is shown as people read it.
func (o planOutput) people() bool { return !o.json && !o.markdown }

func (a *app) showPlan(w *work, o planOutput) error {
	if err := a.printPlan(w, o); err != nil {
		return err
	}
	if o.jsonInto != "" {
		if err := writeFile(a.path(o.jsonInto), func(f *os.File) error { return a.planJSON(f, w) }); err != nil {
			return err
		}
	}
	if w.diags.HasErrors() {
		return command.Failed
	}
	if o.out != "" {
		if err := a.savePlan(a.path(o.out), w); err != nil {
			return err
		}
		switch {
		case o.people() && w.plan.BudgetBroken():
			a.printf("Saved to %s, to look at: it cannot be applied, since a budget does not hold.\n", o.out)
		case o.people():
			a.printf("Saved to %s. To do exactly this:\n\n    muster apply %s\n", o.out, o.out)
		}
	}
	if w.plan.BudgetBroken() {
		return command.Budget
	}
	if o.detailed && (w.plan.Counts.Changes() || w.plan.RefreshOnly && w.plan.Counts.Missing > 0) {
		return command.Changes
	}
	return nil
}

func (a *app) printPlan(w *work, o planOutput) error {
	switch {
	case o.json:
		return a.planJSON(a.stdout, w)
	case o.markdown:
		a.fail(w.diags)
		return a.planMarkdown(a.stdout, w)
	}
	text, err := a.planText(w, o)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(a.stdout, text); err != nil {
		return err
	}
	a.fail(w.diags)
	if o.scripts {
		return a.printScripts(w)
	}
	return nil
}

// printScripts shows what would be submitted, and ends the look before that:
// ten points of every phase that goes to Slurm.
func (a *app) printScripts(w *work) error {
	text, diags, err := preview.Scripts(w.campaign, w.plan, w.input.Pools)
	a.printf("%s", text)
	if err != nil {
		return err
	}
	if err := a.report(diags); err != nil {
		return err
	}
	path, err := statePath(w.campaign)
	if err != nil {
		return err
	}
	return view.Human{Style: a.out}.Checklists(a.stdout, checklist.Of(w.plan, w.input, path))
}
