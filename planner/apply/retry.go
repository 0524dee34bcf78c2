package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/haul"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/planner/apply/relaunch"
	"github.com/muster-run/muster/planner/apply/scripts"
	"github.com/muster-run/muster/planner/apply/sheet"
	"github.com/muster-run/muster/planner/apply/source"
	"github.com/muster-run/muster/planner/launches"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/retry"
	"github.com/muster-run/muster/state"
)

// releaseRetries makes the jobs ready whose delay is over.
func (e *engine) releaseRetries() {
	now := e.Clock()
	for d, ok := e.retries.Pop(now); ok; d, ok = e.retries.Pop(now) {
		p := e.phases[d.Phase]
		if p.At[d.Cell] != cells.Waiting {
			continue // held or cancelled meanwhile
		}
		p.Set(d.Cell, cells.Pending)
		if p.Waits[d.Cell] == 0 {
			e.makeReady(p, d.Cell)
		}
	}
	if d, ok := e.retries.Next(); ok && e.retrying() { // else a person has to act first, and the run need not wait
		e.wakeAt(d.At)
	}
}

// retryAt lets a cell wait until a time.
func (e *engine) retryAt(p *phase, cell int32, at time.Time) {
	p.Set(cell, cells.Waiting)
	e.due(p, cell, at)
}

// due notes when a cell is launched again. A run that does not stay says so.
func (e *engine) due(p *phase, cell int32, at time.Time) {
	e.retries.Add(relaunch.Due{At: at, Phase: p.Ord, Cell: cell})
	if e.handingOver() && !e.stopped(p) {
		e.needs(fmt.Sprintf("%s is launched again at %s", p.Address(int(cell)), at.UTC().Format("2006-01-02 15:04:05 MST")))
	}
}

// nextLaunch says when a job that failed is launched again.
func (e *engine) nextLaunch(f *flight, n int) string {
	text := fmt.Sprintf("launch %d of %d", n+1, max(f.max, n+1))
	switch {
	case f.p.breaker.Open:
		return fmt.Sprintf("%s waits for muster resume phase.%s", text, f.p.Name)
	case e.covers(f.p, f.cell):
		return text + " waits for muster resume"
	case f.p.Retry.Delay <= 0:
		return text + " follows"
	}
	return fmt.Sprintf("%s in %s", text, f.p.Retry.Delay)
}

// ridingRetry is the policy that goes with a job where its queue retries.
func (e *engine) ridingRetry(f *flight, s *sheet.Spec) providers.Retry {
	if f.smoke || !f.B.Can.Retries && !f.B.Can.HostQueue {
		return providers.Retry{Max: 1}
	}
	r := s.Retry
	r.On, r.Max = f.policy().On, f.max
	return r
}

// segments is how many launches in a row a flight's work is cut into.
func (f *flight) segments() int {
	if f.where == nil || f.smoke {
		return 1
	}
	return max(1, f.where.Segments)
}

// policy is the retry policy of a flight's job.
func (f *flight) policy() lang.Retry { return f.p.Retry.InSegments(f.segments()) }

// most is how many launches the policy allows a flight's job in all, where it is
// placed.
func (f *flight) most() int {
	if f.where == nil {
		return f.p.Retry.Launches()
	}
	return launches.Most(f.where.Shape, f.p.Retry, f.segments(), f.pool())
}

// rides reports whether the flight's queue retries by itself.
func (f *flight) rides() bool { return !f.smoke && (f.B.Can.HostQueue || f.B.Can.Retries) }

// attemptsLeft is how many launches a record still has.
func (e *engine) attemptsLeft(p *phase, rec *state.Job) int {
	n := 0
	if a := rec.Last(); a != nil {
		n = a.N
	}
	return max(1, p.Retry.Max) - n
}

// failedAttempt folds a launch that failed for good as its queue sees it, and
// decides what follows.
func (e *engine) failedAttempt(f *flight, o *offer.Observation, n int) {
	if o.Class == "" || o.Status == offer.Lost {
		o = relaunch.Classified(o, relaunch.Rules(e.Campaign))
	}
	e.roomLost(f, o.Class)
	if f.End != fleet.Stays { // it failed before the cancel reached it
		e.cancelledAttempt(f, o, n)
		return
	}
	if f.outdated {
		e.settleFailure(f, o, n, relaunch.Fail)
		return
	}
	action, ask := e.verdict(f, o, n)
	if ask {
		kept := *o
		e.askCheckpoint(f, &kept, n, 1)
		return
	}
	e.settleFailure(f, o, n, action)
}

// verdict is what follows a launch that failed; ask says that it is launched again
// only if its checkpoint moved.
func (e *engine) verdict(f *flight, o *offer.Observation, n int) (action relaunch.Action, ask bool) {
	if f.p == nil {
		return relaunch.Fail, false
	}
	// A scheduler starts again what ended by itself, as it was: what needs more
	// of something, or lost its place in the queue, is ours to launch.
	rides := f.rides() && f.B.Can.HostQueue
	c := relaunch.Case{Class: o.Class, Launch: f.N, Smoke: f.smoke, Rides: rides, Paid: e.paid(f),
		Policy: f.policy(), Shape: e.launched(f, o, n).Shape, Most: retry.BoundOf(f.pool(), f.size().Nodes)}
	c.Policy.Max = max(c.Policy.Max, f.max)
	if rec := e.st.Jobs[f.Key]; rec != nil {
		c.Before = rec.Attempts
	}
	action, why := relaunch.Decide(c, e.Campaign.Failures)
	if why != retry.NoProgress || f.p.Checkpoint == nil {
		return action, false
	}
	c.Moved = true
	moved, _ := relaunch.Decide(c, e.Campaign.Failures)
	return action, moved == relaunch.Retry
}

// paid reports whether a launch costs money.
func (e *engine) paid(f *flight) bool {
	return f.B.Can.Rents || f.tab.Tariff != nil && f.tab.Tariff.Paid()
}

// askCheckpoint looks whether the checkpoint moved: a walltime hit without
// progress would only come to the same end. From a backend that does not answer
// nothing is concluded; it is asked again.
func (e *engine) askCheckpoint(f *flight, o *offer.Observation, n, try int) {
	at := f.spot()
	r, diags := f.p.Render(int(f.cell), lang.Site{Workdir: at.Workdir, Backend: f.B.Name, Pool: f.Pool,
		SourceDir: source.In(at.Workdir, f.p.source), Input: func(name string) []string { return e.inputPaths(f, name) }})
	if diags.HasErrors() || r.Checkpoint == "" {
		e.settleFailure(f, o, n, relaunch.Fail)
		return
	}
	f.mark(cells.Verifying)
	var files []providers.FileInfo
	var err error
	f.B.Call(func() {
		ctx, cancel := context.WithTimeout(e.Context(), line.AskTimeout)
		defer cancel()
		files, err = f.B.Provider.List(ctx, at.Name(), []string{haul.Absolute(at.Workdir, r.Checkpoint)})
	}, func() {
		switch class := line.ClassOf(err); {
		case e.flights[f.Token] != f || err != nil && class == "":
			return // told meanwhile, or the run is over
		case err != nil && class == providers.Unreachable:
			e.fleet.Unreachable(f.B, err)
			e.Later(line.Backoff(try), func() {
				if e.flights[f.Token] == f { // nothing was told meanwhile
					e.askCheckpoint(f, o, n, try+1)
				}
			})
			return
		}
		e.fleet.Reachable(f.B)
		action := relaunch.Fail
		for _, fi := range files {
			if err == nil && time.Unix(0, fi.MTime).After(o.Started) {
				action = relaunch.Retry
			}
		}
		e.settleFailure(f, o, n, action)
	})
}

// settleFailure records a failed launch and what follows.
func (e *engine) settleFailure(f *flight, o *offer.Observation, n int, action relaunch.Action) {
	if f.p != nil {
		if why := scripts.Cause(e.Campaign, f.p.Phase, int(f.cell), f.spot().Workdir, o); why != "" {
			known := *o
			known.Reason = why
			o = &known
		}
	}
	ev := state.Observed{Address: f.Addr, Token: f.Token, Status: state.Failed, Attempt: f.attemptOf(o, n), Reason: o.Reason, Spent: e.bill(f, o, n), At: e.Clock()}
	if o.Class == failure.Unverified { // they are there, whatever they are
		ev.Outputs = sheet.OutputsOf(o, f.B.Name, f.spot().Workdir)
	}
	if action == relaunch.Retry {
		ev.Status, ev.Retry = state.Waiting, e.Clock().Add(f.p.Retry.Delay)
	}
	e.emit(ev)
	e.arrived(f)
	switch {
	case f.p == nil:
		return
	case o.Class == failure.InputChanged:
		e.refuseCell(f.p, f.cell, f.smoke, o.Reason)
	case f.smoke:
		e.smokeFailed(f, relaunch.Text(o))
	case f.outdated:
		e.startOver(f)
	case action == relaunch.Retry:
		e.countAgain(f, o) // first: what is stopped is not due
		e.retryAt(f.p, f.cell, ev.Retry)
		if f.B.Can.HostQueue {
			e.unchain(f.p, f.cell) // it knows nothing of the token that comes next
		}
		e.report.Note(f.Addr, fmt.Sprintf("%s failed (%s); %s", f.Addr, o.Class, e.nextLaunch(f, n)), false)
		if next := e.nextCandidate(f, "re-placed after "+o.Class+" on "+f.B.Name); next != nil && relaunch.Elsewhere(o.Class) {
			f.p.places.Move(f.cell, next) // the class is about the machine
		}
	case action == relaunch.Hold:
		e.holdJob(f.p, f.cell, relaunch.Text(o))
		e.countFailure(f, o)
		e.revoke(f, o)
	default:
		f.p.Set(f.cell, cells.Failed)
		e.unchain(f.p, f.cell)
		e.report.Note(f.Addr, f.Addr+" failed: "+relaunch.Text(o), true)
		e.countFailure(f, o)
		e.revoke(f, o)
	}
}
