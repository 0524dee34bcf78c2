package apply

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/planner/apply/retry"
	"github.com/muster-run/muster/planner/apply/source"
	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/planner/ceiling"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	policy "github.com/muster-run/muster/providers/retry"
	"github.com/muster-run/muster/state"
)

// nextLaunch says when a job that failed is launched again.
func (oc *outcomes) nextLaunch(f *attempt, n int) string {
	text := fmt.Sprintf("launch %d of %d", n+1, max(f.max, n+1))
	switch {
	case f.p.tripped(f.cell):
		return fmt.Sprintf("%s waits for muster resume %s", text, shell.Quote((state.Breaker{Phase: f.p.Name, Of: setting(f.p.stops(f.cell))}).Address()))
	case oc.holds.covers(f.p, f.cell):
		return text + " waits for muster resume"
	case oc.Plan.Destroy:
		return text + " waits for the next muster apply"
	case f.p.Retry.Delay <= 0:
		return text + " follows"
	}
	return fmt.Sprintf("%s in %s", text, f.p.Retry.Delay)
}

// cutByTime reports whether a launch only reached its walltime: its checkpoint has its work.
func (f *attempt) cutByTime(class string) bool {
	return class == failure.Walltime && f.p != nil && f.p.Checkpoint != nil
}

// ending says how a launch ended that another one follows: of a machine that was lost also why,
// and what is lost with it.
func (f *attempt) ending(o *offer.Observation) string {
	if f.cutByTime(o.Class) {
		return "reached its walltime"
	}
	text := "failed (" + o.Class + ")"
	if (o.Class == failure.NodeFailure || o.Class == failure.Preempted) && o.Reason != "" {
		text += ": " + strings.TrimSuffix(o.Reason, ".")
	}
	return text
}

// segments is how many launches in a row an attempt's work is cut into.
func (f *attempt) segments() int {
	if f.where == nil || f.smoke {
		return 1
	}
	return max(1, f.where.Segments)
}

// policy is the retry policy of an attempt's job.
func (f *attempt) policy() lang.Retry { return f.p.Retry.InSegments(f.segments()) }

// most is how many launches the policy allows an attempt's job in all, where it is
// placed.
func (f *attempt) most() int {
	if f.where == nil {
		return f.p.Retry.Launches()
	}
	return ceiling.Most(f.where.Shape, f.p.Retry, f.segments(), f.pool())
}

// rides reports whether the attempt's queue may launch it again by itself. It does
// not launch a job again that shares a node with others.
func (f *attempt) rides() bool {
	return !f.smoke && !f.shares() && (f.B.Can.HostQueue || f.B.Can.Retries || f.B.Can.Requeues)
}

// launchesLeft is how many launches a record still has.
func (p *phase) launchesLeft(rec *state.Job) int {
	n := 0
	if a := rec.Last(); a != nil {
		n = a.N
	}
	return max(1, p.Retry.Max) - n
}

// failedAttempt folds a launch that failed for good as its queue sees it, and
// decides what follows.
func (oc *outcomes) failedAttempt(f *attempt, o *offer.Observation, n int) {
	if o.Class == "" || o.Status == offer.Lost {
		o = retry.Classified(o, retry.Rules(oc.Campaign))
	}
	f.roomLost(o.Class)
	if f.End != backends.Stays { // it failed before the cancel reached it
		oc.cancelledAttempt(f, o, n)
		return
	}
	if f.outdated {
		oc.settleFailure(f, o, n, retry.Fail)
		return
	}
	action, ask := oc.verdict(f, o, n)
	if ask {
		kept := *o
		oc.askCheckpoint(f, &kept, n, 1)
		return
	}
	oc.settleFailure(f, o, n, action)
}

// verdict is the action after a failed launch; ask says that the job is launched
// again only if its checkpoint moved.
func (oc *outcomes) verdict(f *attempt, o *offer.Observation, n int) (action retry.Action, ask bool) {
	if f.p == nil {
		return retry.Fail, false
	}
	// A scheduler restarts a job that it ended, with the same request. A job that
	// needs more resources, or lost its place in the queue, is ours to launch.
	rides := f.rides() && f.B.Can.HostQueue
	c := retry.Case{Class: o.Class, Launch: f.N, Smoke: f.smoke, On: f.B.Name, Rides: rides, Paid: f.paid(),
		Policy: f.policy(), Shape: oc.accounts.launched(f, o, n).Shape, Most: policy.BoundOf(f.pool(), f.size().Nodes)}
	c.Policy.Max = max(c.Policy.Max, f.max)
	if rec := oc.st.Jobs[f.Key]; rec != nil {
		c.Before = rec.Attempts
	}
	action, why := retry.Decide(c, oc.Campaign.Failures)
	if why != policy.NoProgress || f.p.Checkpoint == nil {
		return action, false
	}
	c.Moved = true
	moved, _ := retry.Decide(c, oc.Campaign.Failures)
	return action, moved == retry.Again
}

// paid reports whether a launch costs money.
func (f *attempt) paid() bool {
	return f.B.Can.Rents || f.tab.Tariff != nil && f.tab.Tariff.Paid()
}

// askCheckpoint looks whether the checkpoint moved: a walltime hit without
// progress would only come to the same end. From a backend that does not answer
// nothing is concluded; it is asked again.
func (oc *outcomes) askCheckpoint(f *attempt, o *offer.Observation, n, try int) {
	at := f.filesystem()
	at.Workdir = f.workdir()
	r, diags := f.p.Render(int(f.cell), lang.Target{Workdir: at.Workdir, Backend: f.B.Name, Pool: f.Pool,
		SourceDir: source.In(at.Workdir, f.p.source), Input: func(name string) []string { return oc.inputs.inputPaths(f, name) }})
	if diags.HasErrors() || r.Checkpoint == "" {
		oc.settleFailure(f, o, n, retry.Fail)
		return
	}
	f.mark(cells.Verifying)
	var files []providers.FileInfo
	var err error
	f.B.Call(func() {
		ctx, cancel := context.WithTimeout(oc.Context(), connection.AskTimeout)
		defer cancel()
		files, err = f.B.Provider.List(ctx, at.Name(), []string{staging.Absolute(at.Workdir, r.Checkpoint)})
	}, func() {
		switch class := connection.ClassOf(err); {
		case oc.attempts[f.Token] != f || err != nil && class == "":
			return // told meanwhile, or the run is over
		case err != nil && class == providers.Unreachable:
			oc.backends.Unreachable(f.B, err)
			oc.Later(connection.Backoff(try), func() {
				if oc.attempts[f.Token] == f { // no news meanwhile
					oc.askCheckpoint(f, o, n, try+1)
				}
			})
			return
		}
		oc.backends.Reachable(f.B)
		action := retry.Fail
		for _, fi := range files {
			if err == nil && time.Unix(0, fi.MTime).After(o.Started) {
				action = retry.Again
			}
		}
		oc.settleFailure(f, o, n, action)
	})
}

// settleFailure records a failed launch and what follows.
func (oc *outcomes) settleFailure(f *attempt, o *offer.Observation, n int, action retry.Action) {
	if f.p != nil {
		if why := source.MissingFile(oc.Campaign, f.p.Phase, int(f.cell), f.workdir(), o); why != "" {
			known := *o
			known.Reason = why
			o = &known
		}
	}
	ev := state.Observed{Address: f.Addr, Token: f.Token, Status: state.Failed, Attempt: f.attemptOf(o, n), Reason: o.Reason, Spent: oc.accounts.bill(f, o, n), At: oc.Clock()}
	if o.Class == failure.Unverified { // they are there, whatever they are
		ev.Outputs = jobspec.OutputsOf(o, f.B.Name, f.workdir())
	}
	if action == retry.Again {
		ev.Status, ev.Retry = state.Waiting, oc.Clock().Add(f.p.Retry.Delay)
	}
	oc.Emit(ev)
	oc.arrived(f)
	switch {
	case f.p == nil:
		return
	case f.oldSmoke():
		oc.forget(f)
	case o.Class == failure.InputChanged:
		oc.schedule.refuseCell(f.p, f.cell, f.smoke, o.Reason)
	case f.smoke:
		oc.gates.smokeFailed(f, retry.Text(o))
	case f.outdated:
		oc.schedule.startOver(f)
	case action == retry.Again:
		oc.breakers.countAgain(f, o) // first: stopped jobs are not due
		oc.schedule.retryAt(f.p, f.cell, ev.Retry)
		leaves := oc.placement.leave(f, o.Class)
		if f.B.Can.HostQueue || leaves != "" {
			oc.schedule.unchain(f.p, f.cell) // it knows nothing of the token that comes next
		}
		oc.Note(f.Addr, fmt.Sprintf("%s %s; %s%s", f.Addr, f.ending(o), oc.nextLaunch(f, n), leaves), false)
		if leaves != "" {
			return
		}
		if next := oc.placement.nextCandidate(f, "re-placed after "+o.Class+" on "+f.B.Name); next != nil && retry.Elsewhere(o.Class) {
			f.p.places.Move(f.cell, next) // the class is about the machine
		}
	case action == retry.Hold:
		oc.schedule.holdJob(f.p, f.cell, retry.Text(o))
		oc.breakers.countFailure(f, o)
		oc.gates.revoke(f, o)
	default:
		f.p.Set(f.cell, cells.Failed)
		oc.schedule.unchain(f.p, f.cell)
		oc.Note(f.Addr, f.Addr+" failed: "+retry.Text(o), true)
		oc.breakers.countFailure(f, o)
		oc.gates.revoke(f, o)
	}
}
