package main

import (
	"context"
	"errors"
	"flag"
	"maps"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/trust"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/planner/apply/source"
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
	fs.BoolVar(&f.autoApprove, "auto-approve", false, "do not ask; refused if finished work would run again, if files that jobs did not make would be replaced, or if running work would be cancelled")
	fs.BoolVar(&f.allowRerun, "allow-rerun", false, "with -auto-approve: finished work may run again and files that jobs did not make may be replaced (old files are moved aside)")
	fs.BoolVar(&f.allowCancel, "allow-cancel", false, "with -auto-approve: running work may be cancelled")
	fs.BoolVar(&f.detach, "detach", false, "submit every job that runs without muster, list the jobs that need it, and exit")
	fs.BoolVar(&f.once, "once", false, "continue the approved plan in one pass, without asking; exit 2 when there is more work")
	fs.BoolVar(&f.json, "json", false, "print events, one JSON object a line; needs a saved plan or -auto-approve")
}

func applyCommand(a *app) *command.Command {
	return &command.Command{
		Name: "apply", Args: "[PLAN]", Short: "carry out a plan until every job is done and verified", MaxArgs: 1,
		Long: `Applies a saved plan without asking, or plans, shows the plan, and asks. It continues until every job is done and verified,
held, or failed. If you interrupt it, submitted jobs keep running: the same command continues where it stopped, and nothing
runs twice.`,
		Examples: []command.Example{
			{"muster apply paper.mplan", "apply exactly this plan"},
			{"muster apply -auto-approve", "plan and apply, in CI"},
		},
		Exits: []command.Exit{command.Changes, command.Held, command.Budget, command.Locked, command.Interrupted},
		Setup: func(fs *flag.FlagSet) command.Action {
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
		return command.Usagef("-detach submits everything and -once makes one pass: choose one")
	case saved && f.once:
		return command.Usagef("-once takes no new approval, so it reads no plan: run muster apply FILE, or muster apply -detach FILE; then muster apply -once continues")
	case f.refreshOnly && (f.detach || f.once):
		return command.Usagef("-refresh-only starts nothing: leave -detach and -once out")
	case f.json && !saved && !f.autoApprove && !f.once && !f.refreshOnly:
		return command.Usagef("-json cannot ask: give a saved plan, or -auto-approve")
	case saved && (len(f.targets)+len(f.rerun)+len(f.accept)+len(f.release) > 0 || f.destroy || f.refreshOnly):
		return command.Usagef("a saved plan is applied as it was reviewed: plan again with these options instead")
	}
	return f.planFlags.check()
}

// An applying is one apply or destroy.
type applying struct {
	*workspace
	f    applyFlags
	file *planfile.File // the plan that is applied, nil for none
}

func (a *app) apply(ctx context.Context, f applyFlags, args []string) error {
	ap := applying{workspace: a.workspace, f: f}
	if f.json {
		ap.stream()
	}
	if len(args) == 1 {
		var err error
		if ap.file, err = planfile.Read(absolute(args[0])); err != nil {
			return err
		}
		ap.f.saved = args[0]
	}
	if f.autoApprove {
		ap.guard.Accept()
	}
	for {
		if err := ap.once(ctx); !errors.Is(err, errTrusted) {
			return err
		}
	}
}

// once is one try of apply. It is errTrusted where items were trusted on the
// way, so that the campaign has to be looked at again.
func (ap *applying) once(ctx context.Context) error {
	defer paceCollector(engineGarbage)() // also while the state is folded at the end
	c, err := ap.loadFor()
	if err != nil {
		return err
	}
	s, err := ap.storeTo(c, true)
	if providers.IsWithheld(err) {
		return ap.trustLeft(ap.f)
	}
	if err != nil {
		return err
	}
	session, err := ap.session(ctx, s, "apply", ap.f.lockTimeout)
	if err != nil {
		return err
	}
	err = ap.with(ctx, c, session)
	if closeErr := session.Close(context.WithoutCancel(ctx)); closeErr != nil && !errors.Is(closeErr, store.ErrLost) {
		err = errors.Join(err, closeErr)
	}
	return err
}

func (ap *applying) with(ctx context.Context, c *lang.Campaign, session store.Session) error {
	var w *work
	var err error
	refresh.Rehome(c, session.State(), ap.guard.Reads)
	if ap.file != nil {
		w, err = ap.savedPlan(ctx, c, session.State())
	} else {
		w, err = ap.freshPlan(ctx, c, session.State())
	}
	if w != nil {
		defer w.close()
	}
	if err == command.Budget && w != nil && !ap.f.refreshOnly {
		return ap.restrain(ctx, w, session)
	}
	if err != nil || w == nil {
		return err
	}
	if ap.f.refreshOnly {
		return ap.record(ctx, w, session)
	}
	return ap.drive(ctx, w, session)
}

// budgetStops is printed for a plan whose p90 passes a budget or its deadline, or is not known,
// saved or not.
const budgetStops = "Nothing was started: a budget does not cover this plan. Follow its warning, raise the budget, or apply fewer jobs at a time with -target=ADDR."

// restrain holds, in the queues of backends, the jobs that the budgets do not
// cover any more, of a plan that they do not let start.
func (ap *applying) restrain(ctx context.Context, w *work, session store.Session) error {
	if len(session.State().InFlight()) == 0 {
		return command.Budget
	}
	who, host := whoami()
	sink := ap.progress(w.plan, ap.f.json)
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
	if out.Stopped == progress.Budget && !ap.f.json {
		ap.printf("%s\n", diag.Sentence(out.Why))
	}
	return command.Budget
}

// freshPlan plans, shows the plan and asks. A nil work means that there is
// nothing to do, or that the answer was no.
func (ap *applying) freshPlan(ctx context.Context, c *lang.Campaign, st *state.State) (*work, error) {
	ap.allowSecrets(c)
	ap.meetPlaces(c, st)
	w, err := ap.planToStart(ctx, c, st, ap.f.planFlags)
	if err != nil {
		return nil, err
	}
	if err := ap.trustLeft(ap.f); err != nil {
		return w, err
	}
	if ap.f.once { // it asks nothing, and carries out an approved plan
		w.diags.Append(ap.tryCommands(ctx, w, func(trust.Item) bool { return true })...)
	}
	if ap.f.json {
		err = ap.report(w.diags)
	} else {
		err = planPage{ap.workspace, w, planOutput{verbose: ap.f.verbose}}.show()
	}
	switch {
	case err == nil && w.plan.BudgetBroken():
		return w, command.Budget
	case err == command.Budget:
		ap.printf("%s\n", term.Fold(budgetStops, ap.out.Width))
		return w, err
	case err != nil:
		return w, err
	}
	if ap.f.once || ap.f.refreshOnly || !w.plan.Counts.Changes() {
		return w, nil
	}
	if err := ap.approve(w.plan); err != nil {
		return w, err
	}
	return w, nil
}

// approve asks, or checks that the flags of the command line cover the plan.
func (ap *applying) approve(p *planner.Plan) error {
	switch refused := mustBeSaved(p); {
	case refused.HasErrors(): // whatever the flags
		return ap.report(refused)
	case ap.f.autoApprove:
		return ap.report(consentFlags{rerun: ap.f.allowRerun, cancel: ap.f.allowCancel}.lacking(p))
	case !ap.global.input:
		return ap.report(diag.List{{Summary: "Cannot ask for approval", Detail: "Input is off (-input=false or CI=true). Apply a saved plan, or pass -auto-approve."}})
	}
	yes, err := ap.ask(approvalQuestion(p))
	if err != nil {
		return err
	}
	if !yes {
		ap.printf("\nNothing was started.\n")
		return command.Failed
	}
	return nil
}

// drive runs the engine and says how it ended.
func (ap *applying) drive(ctx context.Context, w *work, session store.Session) error {
	ap.approved(ap.f)
	ap.keepApplied(w.campaign)
	who, host := whoami()
	sink := ap.progress(w.plan, ap.f.json)
	defer ap.drives()()
	run := apply.Run
	if w.simulated != nil {
		if w.simulated.Alone(w.plan) {
			run = w.simulated.Run
		} else {
			w.simulated = nil // beside real work it lives by the real clock
		}
	}
	out, err := run(ctx, apply.Config{
		Plan: w.plan, Campaign: w.campaign, Session: session, Provider: w.provider(ctx), Mode: ap.f.mode(),
		Who: who, Host: host, Muster: version, At: revision(ctx, w.campaign.Dir), Saved: ap.f.saved != "", Away: told(w.plan, ap.f),
		AllowRerun: ap.f.allowRerun, AllowCancel: ap.f.allowCancel, Rentals: w.input.Observed.Rentals,
		Progress: sink.Show, Event: sink.Event, Cache: ap.cacheDir(), Reads: ap.guard.Reads, Requests: ap.requestsDir(),
		Common: ap.common(w),
	})
	sink.Close()
	if err != nil {
		return err
	}
	return ap.conclude(w, out)
}

// told is the messages about unreachable backends that this user has just
// read.
func told(p *planner.Plan, f applyFlags) map[string]string {
	out := map[string]string{}
	if !f.json && f.saved == "" {
		for _, v := range p.Backends {
			out[v.Name] = v.Problem
		}
	}
	return out
}

// planToStart plans so that jobs may start.
func (ap *applying) planToStart(ctx context.Context, c *lang.Campaign, st *state.State, p planFlags) (*work, error) {
	p.secrets, p.adopt = true, true
	return ap.planWith(ctx, c, st, p)
}

// record records the findings of a refresh; it starts nothing.
func (ap *applying) record(ctx context.Context, w *work, session store.Session) error {
	if !w.plan.Counts.Changes() && w.plan.Counts.Missing == 0 && len(w.input.Observed.Touched) == 0 && maps.Equal(w.input.Observed.Machines(w.state.Rentals, w.input.Now), w.state.Rentals) {
		return nil
	}
	ap.approved(ap.f)
	in := w.input
	in.Options = planner.Options{}
	whole, _, err := makePlan(ctx, in)
	if err != nil {
		return err
	}
	who, host := whoami()
	sink := ap.progress(whole, ap.f.json)
	err = apply.Record(ctx, apply.Config{
		Plan: whole, Campaign: w.campaign, Session: session, Provider: w.provider(ctx), Who: who, Host: host, Muster: version,
		Event: sink.Event,
	}, w.input.Observed)
	sink.Close()
	if err == nil && !ap.f.json {
		ap.printf("Recorded. Nothing was started.\n")
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

// revision is where the campaign's folder is in git.
func revision(ctx context.Context, dir string) (out state.Revision) {
	out.Commit, out.Dirty = source.Commit(ctx, dir)
	return out
}
