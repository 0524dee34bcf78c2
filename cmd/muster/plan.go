package main

import (
	"context"
	"flag"
	"strconv"
	"time"

	"github.com/muster-run/muster/cmd/muster/command"
)

// planFlags are the common flags of plan and of apply without a saved plan.
type planFlags struct {
	varFlags
	targets, rerun, accept, release texts
	refresh, refreshOnly            bool
	destroy, verify                 bool
	outputs                         bool // with destroy: recorded outputs, too
	verbose                         bool
	reason                          string
	lockTimeout                     time.Duration
	glance                          bool     // a glance at the state is enough if every job is done or stopped
	here                            bool     // only this machine is asked
	secrets                         bool     // that they are there is checked: jobs may start
	json                            bool     // errors of a broken campaign are JSON, too
	adopt                           bool     // files that jobs may adopt are read whatever their size
	about                           []string // addresses that the answer is about, refused first if they mean no job
}

// plain reports whether a plan is asked for as it is, of everything.
func (p *planFlags) plain() bool {
	return len(p.targets)+len(p.rerun)+len(p.accept)+len(p.release) == 0 && !p.refreshOnly && !p.destroy && !p.verify && !p.verbose && p.reason == ""
}

func (p *planFlags) register(fs *flag.FlagSet) {
	p.varFlags.register(fs)
	fs.Var(&p.targets, "target", "plan only the jobs that `ADDR` selects (repeatable; globs over axes, or a unique suffix such as seed=42)")
	fs.Var(&p.rerun, "rerun", "run the jobs that `ADDR` selects again (repeatable)")
	fs.Var(&p.accept, "accept", "keep the results of the completed jobs that `ADDR` selects although the jobs changed (repeatable)")
	p.registerRelease(fs)
	fs.BoolVar(&p.refresh, "refresh", true, "ask the backends about jobs; -refresh=false trusts the state")
	fs.BoolVar(&p.refreshOnly, "refresh-only", false, "show changes since the state was written, and plan nothing; apply records them")
	fs.BoolVar(&p.destroy, "destroy", false, "plan to cancel and release everything")
	fs.BoolVar(&p.verify, "verify", false, "open every recorded output again, instead of comparing size and times")
	fs.BoolVar(&p.verbose, "verbose", false, "show every job")
	fs.StringVar(&p.reason, "reason", "", "record `TEXT` as the reason, with the plan")
	fs.DurationVar(&p.lockTimeout, "lock-timeout", 0, "wait this long for the state lock (`DURATION`, such as 30s)")
}

func (p *planFlags) registerRelease(fs *flag.FlagSet) {
	fs.Var(&p.release, "release", "end the rented machine `ID`, an orphan: muster rented it, and no state here knows it (repeatable)")
}

// check refuses combinations that mean nothing.
func (p *planFlags) check() error {
	switch {
	case p.refreshOnly && p.destroy:
		return command.Usagef("-refresh-only plans nothing and -destroy plans to cancel: choose one")
	case p.refreshOnly && !p.refresh:
		return command.Usagef("-refresh-only asks the backends and -refresh=false does not: choose one")
	case len(p.release) > 0 && !p.refresh:
		return command.Usagef("-release asks the backends and -refresh=false does not: choose one")
	case p.refreshOnly && len(p.rerun)+len(p.accept)+len(p.release) > 0:
		return command.Usagef("-refresh-only plans nothing: leave -rerun, -accept and -release out")
	}
	return nil
}

func planCommand(a *app) *command.Command {
	return &command.Command{
		Name: "plan", Short: "show the jobs that would run, their cost and their time", MaxArgs: 0,
		Long: `Reads the campaign and its state, asks the backends, and shows which jobs would run and why, their cost (expected, at the
90th percentile and at most) and their time. It spends nothing and starts nothing.

-out saves the plan, so that apply does exactly this.`,
		Examples: []command.Example{
			{"muster plan -out=paper.mplan", "review, then do exactly this"},
			{"muster plan -target=seed=42 -detailed-exitcode", "only one seed; exit 2 when there is work"},
		},
		Exits: []command.Exit{command.Changes, command.Budget, command.Locked},
		Setup: func(fs *flag.FlagSet) command.Action {
			var p planFlags
			p.register(fs)
			out := fs.String("out", "", "save the plan to `FILE`")
			asJSON := fs.Bool("json", false, "print the plan as JSON")
			jsonInto := fs.String("json-into", "", "write the plan as JSON to `FILE` as well")
			markdown := fs.Bool("markdown", false, "print the plan as Markdown, for a merge request")
			detailed := fs.Bool("detailed-exitcode", false, "exit 0 when there is nothing to do, 2 when there is")
			compare := fs.String("compare", "", "show instead the differences from the completed jobs of `RUN`, attribute by attribute: the folder of a campaign, or the file of a state")
			var scripts scriptsFlag
			fs.Var(&scripts, "show-scripts", "print the scripts that would be submitted, one for each shape with its first and last command, and for jobs that go to a scheduler the ten-point check list; -show-scripts=ADDR: all commands of the jobs that ADDR selects")
			return func(ctx context.Context, _ []string) error {
				if err := p.check(); err != nil {
					return err
				}
				if p.refreshOnly && *out != "" {
					return command.Usagef("-refresh-only plans nothing that could be saved; muster apply -refresh-only records what happened")
				}
				if *compare != "" && (*out != "" || *jsonInto != "" || *markdown || scripts.on || p.destroy || p.refreshOnly) {
					return command.Usagef("-compare shows differences and no plan: it goes with -json, -target and variables alone")
				}
				if *compare != "" {
					return a.compare(ctx, p, *compare, *asJSON)
				}
				o := planOutput{out: *out, json: *asJSON, jsonInto: *jsonInto, markdown: *markdown, detailed: *detailed, scripts: scripts, verbose: p.verbose}
				p.json, p.adopt = o.json, o.out != ""
				p.glance = p.plain() && !o.scripts.on
				w, err := a.plan(ctx, p)
				if err != nil {
					return err
				}
				defer w.close()
				err = planPage{a.workspace, w, o}.show()
				if (err == nil || err == command.Changes) && w.plan.BudgetHolds() {
					return command.Budget
				}
				return err
			}
		},
	}
}

// A scriptsFlag is -show-scripts, or -show-scripts=ADDR.
type scriptsFlag struct {
	on      bool
	address string // "" = of each shape
}

func (f *scriptsFlag) String() string { return f.address }

// IsBoolFlag lets the flag be given without a value.
func (f *scriptsFlag) IsBoolFlag() bool { return true }

func (f *scriptsFlag) Set(text string) error {
	if on, err := strconv.ParseBool(text); err == nil {
		f.on, f.address = on, ""
		return nil
	}
	f.on, f.address = true, text
	return nil
}
