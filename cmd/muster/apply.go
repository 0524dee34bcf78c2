package main

import (
	"context"
	"errors"
	"flag"
	"path/filepath"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/consent"
	"github.com/muster-run/muster/cmd/muster/live"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply"
	"github.com/muster-run/muster/planner/apply/standing"
	"github.com/muster-run/muster/planner/planfile"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

// applyFlags are the flags of apply and destroy.
type applyFlags struct {
	planFlags
	saved                                string // the file of the plan that is applied, "" for none
	autoApprove, allowRerun, allowCancel bool
	detach, once, json                   bool
}

func (f *applyFlags) register(fs *flag.FlagSet) {
	f.planFlags.register(fs)
	fs.BoolVar(&f.autoApprove, "auto-approve", false, "do not ask; refused when finished work would run again, files be replaced that jobs did not make, or running work be cancelled")
	fs.BoolVar(&f.allowRerun, "allow-rerun", false, "with -auto-approve: finished work may run again, and files that jobs did not make be replaced (both are moved aside)")
	fs.BoolVar(&f.allowCancel, "allow-cancel", false, "with -auto-approve: running work may be cancelled")
	fs.BoolVar(&f.detach, "detach", false, "hand over all that runs without muster, say what waits, and leave")
	fs.BoolVar(&f.once, "once", false, "continue what was approved in one pass, without asking; exit 2 when there is more")
	fs.BoolVar(&f.json, "json", false, "print events, one JSON object a line; needs a saved plan or -auto-approve")
}

func applyCommand(a *app) *command.Command {
	return &command.Command{
		Name: "apply", Args: "[PLAN]", Short: "do what a plan says, until every job is done and verified", MaxArgs: 1,
		Long: `Drives a saved plan without asking, or plans, shows the plan, and asks. It goes on until every job is done and its
outputs are verified, held, or failed. Interrupted, it stops driving and jobs go on: the same command carries on where it
stopped, and nothing runs twice.`,
		Examples: []command.Example{
			{"muster apply paper.mplan", "do exactly what was reviewed"},
			{"muster apply -auto-approve", "plan and do it, in CI"},
		},
		Exits: []command.Exit{command.Changes, command.Held, command.Budget, command.Locked, command.Interrupted},
		Setup: func(fs *flag.FlagSet) command.Run {
			var f applyFlags
			f.register(fs)
			return func(ctx context.Context, args []string) error {
				if err := f.check(args); err != nil {
					return err
				}
				return a.apply(ctx, f, args)
			}
		},
	}
}

// check refuses combinations that mean nothing.
func (f applyFlags) check(args []string) error {
	saved := len(args) == 1
	switch {
	case f.detach && f.once:
		return command.Usagef("-detach hands over everything and -once makes one pass: choose one")
	case saved && f.once:
		return command.Usagef("-once takes no new approval, so it reads no plan: approve this one with muster apply FILE, or hand it over with -detach, then muster apply -once carries on")
	case f.refreshOnly && (f.detach || f.once):
		return command.Usagef("-refresh-only starts nothing: leave -detach and -once out")
	case f.json && !saved && !f.autoApprove && !f.once && !f.refreshOnly:
		return command.Usagef("-json cannot ask: give a saved plan, or -auto-approve")
	case saved && (len(f.targets)+len(f.rerun)+len(f.accept) > 0 || f.destroy || f.refreshOnly):
		return command.Usagef("a saved plan is applied as it was reviewed: plan again with these options instead")
	}
	return f.planFlags.check()
}

func (a *app) apply(ctx context.Context, f applyFlags, args []string) error {
	if f.json {
		a.stream()
	}
	var file *planfile.File
	if len(args) == 1 {
		var err error
		if file, err = planfile.Read(a.path(args[0])); err != nil {
			return err
		}
		f.saved = args[0]
	}
	if f.autoApprove {
		a.guard.Accept()
	}
	for {
		if err := a.applyOnce(ctx, f, file); !errors.Is(err, errTrusted) {
			return err
		}
	}
}

// applyOnce is one try of apply. It is errTrusted where items were trusted on the
// way, so that the campaign has to be looked at again.
func (a *app) applyOnce(ctx context.Context, f applyFlags, file *planfile.File) error {
	c, err := a.loadFor(f, file)
	if err != nil {
		return err
	}
	s, err := a.storeTo(c, true)
	if providers.IsWithheld(err) {
		return a.trustLeft(f)
	}
	if err != nil {
		return err
	}
	session, err := a.session(ctx, s, "apply", f.lockTimeout)
	if err != nil {
		return err
	}
	before := session.State().Seq
	err = a.applyWith(ctx, c, session, f, file)
	recorded := session.State().Seq > before
	if closeErr := session.Close(context.WithoutCancel(ctx)); closeErr != nil && !errors.Is(closeErr, store.ErrLost) {
		err = errors.Join(err, closeErr)
	}
	if recorded && (err == nil || err == command.Held) {
		a.foresee(ctx, c, s, f.varFlags)
	}
	return err
}

func (a *app) applyWith(ctx context.Context, c *lang.Campaign, session store.Session, f applyFlags, file *planfile.File) error {
	var w *work
	var err error
	if file != nil {
		w, err = a.savedPlan(ctx, c, session.State(), file, f)
	} else {
		w, err = a.freshPlan(ctx, c, session.State(), f)
	}
	if w != nil {
		defer w.close()
	}
	if err == command.Budget && w != nil && !f.refreshOnly {
		return a.restrain(ctx, w, session, f)
	}
	if err != nil || w == nil {
		return err
	}
	if f.refreshOnly {
		return a.record(ctx, w, session, f)
	}
	return a.drive(ctx, w, session, f)
}

// budgetStops is said of a plan whose p90 passes a budget or its deadline, saved
// or not.
const budgetStops = "Nothing was started, since a budget does not hold. Raise it, or apply less at a time: -target=ADDR."

// restrain holds, in the queues of backends, what the budgets of a plan that they
// do not let start do not cover any more.
func (a *app) restrain(ctx context.Context, w *work, session store.Session, f applyFlags) error {
	if len(session.State().InFlight()) == 0 {
		return command.Budget
	}
	who, host := whoami()
	sink := a.progress(w.plan, f.json)
	restrain := apply.Restrain
	if w.simulated != nil && w.simulated.Alone(w.plan) {
		restrain = w.simulated.Restrain
	}
	out, err := restrain(ctx, apply.Config{
		Plan: w.plan, Campaign: w.campaign, Session: session, Provider: w.provider(ctx), Who: who, Host: host, Muster: version,
		Progress: sink.Show, Event: sink.Event,
	})
	sink.Close()
	if err != nil {
		return err
	}
	if out.Stopped == standing.Budget && !f.json {
		a.printf("%s\n", diag.Sentence(out.Why))
	}
	return command.Budget
}

// freshPlan plans, shows the plan and asks. A nil work means that there is
// nothing to do, or that the answer was no.
func (a *app) freshPlan(ctx context.Context, c *lang.Campaign, st *state.State, f applyFlags) (*work, error) {
	a.allowSecrets(c)
	a.meetPlaces(c, st)
	f.secrets, f.digest = true, true
	w, err := a.planWith(ctx, c, st, f.planFlags)
	if err != nil {
		return nil, err
	}
	if err := a.trustLeft(f); err != nil {
		return w, err
	}
	if f.json {
		err = a.report(w.diags)
	} else {
		err = a.showPlan(w, planOutput{verbose: f.verbose})
	}
	switch {
	case err == nil && w.plan.BudgetBroken():
		return w, command.Budget
	case err == command.Budget:
		a.printf("%s\n", budgetStops)
		return w, err
	case err != nil:
		return w, err
	}
	if f.once || f.refreshOnly || !w.plan.Counts.Changes() {
		return w, nil
	}
	if err := a.approve(w.plan, f); err != nil {
		return w, err
	}
	return w, nil
}

// approve asks, or checks that what was said on the command line covers the
// plan.
func (a *app) approve(p *planner.Plan, f applyFlags) error {
	switch refused := consent.NeedsSaved(p); {
	case refused.HasErrors(): // whatever the flags
		return a.report(refused)
	case f.autoApprove:
		return a.report(consent.Flags{Rerun: f.allowRerun, Cancel: f.allowCancel}.Lacking(p))
	case !a.global.input:
		return a.report(diag.List{{Summary: "Nobody can be asked", Detail: "Input is off (-input=false or CI=true). Apply a saved plan, or pass -auto-approve."}})
	}
	yes, err := a.ask(consent.Question(p))
	if err != nil {
		return err
	}
	if !yes {
		a.printf("\nNothing was started.\n")
		return command.Failed
	}
	return nil
}

// drive runs the engine and says how it ended.
func (a *app) drive(ctx context.Context, w *work, session store.Session, f applyFlags) error {
	a.approved(f)
	who, host := whoami()
	sink := a.progress(w.plan, f.json)
	defer a.drives()()
	run := apply.Run
	if w.simulated != nil {
		if w.simulated.Alone(w.plan) {
			run = w.simulated.Run
		} else {
			w.simulated = nil // beside real work it lives by the real clock
		}
	}
	out, err := run(ctx, apply.Config{
		Plan: w.plan, Campaign: w.campaign, Session: session, Provider: w.provider(ctx), Mode: f.mode(),
		Who: who, Host: host, Muster: version, Saved: f.saved != "",
		AllowRerun: f.allowRerun, AllowCancel: f.allowCancel,
		Progress: sink.Show, Event: sink.Event, Requests: filepath.Join(a.dataDir(), "requests"),
	})
	sink.Close()
	if err != nil {
		return err
	}
	return a.conclude(w, out, f)
}

// progress is where the run of a plan is shown.
func (a *app) progress(p *planner.Plan, asJSON bool) live.Sink {
	if asJSON {
		return a.stream()
	}
	return live.ForPeople(a.stderr, a.err, p, a.firstWait)
}

// stream is the machine stream on stdout, begun at its first use. From then
// on diagnostics stand in it, too.
func (a *app) stream() *live.Events {
	if a.events == nil {
		a.events = live.NewEvents(a.stdout, version, a.now)
	}
	return a.events
}

// record writes down what a refresh found; nothing is started.
func (a *app) record(ctx context.Context, w *work, session store.Session, f applyFlags) error {
	if !w.plan.Counts.Changes() && w.plan.Counts.Missing == 0 && len(w.input.Observed.Touched) == 0 {
		return nil
	}
	a.approved(f)
	in := w.input
	in.Options = planner.Options{}
	whole, _ := planner.Make(in)
	who, host := whoami()
	sink := a.progress(whole, f.json)
	err := apply.Record(ctx, apply.Config{
		Plan: whole, Campaign: w.campaign, Session: session, Provider: w.provider(ctx), Who: who, Host: host, Muster: version,
		Event: sink.Event,
	}, w.input.Observed)
	sink.Close()
	if err == nil && !f.json {
		a.printf("Recorded. Nothing was started.\n")
	}
	return err
}

func (f applyFlags) mode() apply.Mode {
	switch {
	case f.detach:
		return apply.Detach
	case f.once:
		return apply.Once
	}
	return apply.Drive
}
