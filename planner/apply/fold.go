package apply

import (
	"slices"

	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/relaunch"
	"github.com/muster-run/muster/planner/apply/sheet"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// observe folds what was seen of one job. What it says twice changes nothing.
func (e *engine) observe(f *flight, o *offer.Observation) {
	n := f.N
	switch {
	case o.Status == offer.Waiting && f.short != "" && n <= f.tab.Paid:
		return // the launch that ended is known, and the next is held
	case o.Status != offer.Queued:
		e.begun(f)
	}
	switch o.Status {
	case offer.Queued:
		e.seen(f, o, n, state.Queued, cells.Queued)
		e.tellHolder(f)
		e.releaseForgotten(f, o)
		e.backInQueue(f)
	case offer.Running:
		e.seen(f, o, n, state.Running, cells.Running)
	case offer.Verifying:
		e.seen(f, o, n, state.Verifying, cells.Verifying)
	case offer.Waiting:
		e.launchEnded(f, o, n)
	case offer.Completed:
		e.succeeded(f, o, n)
	case offer.Failed, offer.Lost:
		e.failedAttempt(f, o, n)
	case offer.Cancelled:
		e.cancelledAttempt(f, o, n)
	}
}

// late folds the end of a launch that is heard of after a later one: it is
// recorded and paid for, and moves nothing.
func (e *engine) late(f *flight, o *offer.Observation, n int) {
	if o.Status == offer.Queued || o.Status == offer.Running || o.Status == offer.Verifying {
		return
	}
	j := e.st.Jobs[f.Key]
	if j == nil || slices.ContainsFunc(j.Attempts, func(a state.Attempt) bool { return a.N == n && !a.Ended.IsZero() && (a.Class != "" || a.Exit != nil) }) {
		return
	}
	spent := e.bill(f, o, n)
	if en, ok := e.budgets.Correct(&f.tab, e.launched(f, o, n), e.Clock()); ok {
		spent = &en
		e.warnOfBudgets()
	}
	e.emit(state.Observed{Address: f.Addr, Token: f.Token, Status: state.Waiting, Attempt: f.attemptOf(o, n), Reason: o.Reason, Spent: spent, At: e.Clock()})
}

// seen notes a step that is not an end. A step that says nothing new leaves
// no event; that a job is held no more is new.
func (e *engine) seen(f *flight, o *offer.Observation, n int, s state.Status, to cells.Status) {
	rec := e.st.Jobs[f.Key]
	if o.Reason == offer.CampaignHeld && !e.holds.All { // its queue has not been told yet
		copied := *o
		copied.Reason = ""
		o = &copied
	}
	says := !o.Expected.IsZero() || o.Reason != "" || rec != nil && rec.Reason != o.Reason || f.stageChanged(rec)
	if s == state.Running && o.Reason != "" && rec != nil && rec.Reason != o.Reason {
		e.report.Note(f.Addr, f.Key+": "+o.Reason, false)
	}
	if f.Status == to && !says {
		return
	}
	if to != cells.Queued || says {
		a := f.attemptOf(o, n)
		if to == cells.Queued && f.stageChanged(rec) {
			a.Stage = string(f.Stage)
		}
		e.emit(state.Observed{Address: f.Addr, Token: f.Token, Status: s, Attempt: a, Reason: o.Reason, Short: f.short, At: e.Clock()})
	}
	if f.End == fleet.Stays {
		f.mark(to)
	} else {
		f.Status = to
	}
}

// tellHolder says once that somebody else holds a job in its queue.
func (e *engine) tellHolder(f *flight) {
	if f.HeldBy == f.told || f.p == nil || !e.mayStart(f) {
		return
	}
	if f.told = f.HeldBy; f.told != "" {
		e.report.NoteHeld("phase."+f.p.Name, f.Addr, f.holder())
	}
}

// stageChanged reports whether a record has another stage of its last attempt.
func (f *flight) stageChanged(rec *state.Job) bool {
	if rec == nil || rec.Last() == nil {
		return false
	}
	was := rec.Last().Stage
	return was != string(f.Stage) && (was != "" || f.Stage != offer.Released)
}

// attemptOf is an observation as the state keeps it.
func (f *flight) attemptOf(o *offer.Observation, n int) state.Attempt {
	a := sheet.Attempt(f.B.Name, f.LaunchToken(n), o, n)
	if o.Got != nil && f.asked != nil && n > f.First {
		got := *o.Got
		got.Walltime = max(got.Walltime, f.asked.Walltime) // a queue may have been told to end it earlier
		a.Scaled = relaunch.Changes(*f.asked, got)
	}
	return a
}

// launchEnded is for a launch that failed and that its queue tries again.
func (e *engine) launchEnded(f *flight, o *offer.Observation, n int) {
	e.emit(state.Observed{Address: f.Addr, Token: f.Token, Status: state.Waiting, Attempt: f.attemptOf(o, n), Reason: o.Reason,
		Retry: o.Expected, Spent: e.bill(f, o, n), At: e.Clock()})
	f.mark(cells.Waiting)
	e.roomLost(f, o.Class)
	next := " and is tried again"
	if why := e.budgets.Refuses(&f.tab, e.Clock()); why != "" && f.End == fleet.Stays {
		next, f.by = " and is not tried again: "+why, "muster: "+why
		f.EndAs(fleet.Hold)
		e.fleet.Cancel()
	}
	e.report.Note(f.Addr, f.Key+" failed ("+o.Class+")"+next, f.End != fleet.Stays)
}

// succeeded is the end that everything waits for: exit 0, every output
// verified and fresh.
func (e *engine) succeeded(f *flight, o *offer.Observation, n int) {
	if f.imported && len(o.Outputs) == 0 && f.p != nil && len(f.p.Outputs) > 0 {
		e.verifyImport(f, o, n)
		return
	}
	ev := state.Observed{Address: f.Addr, Token: f.Token, Status: state.Completed, Attempt: f.attemptOf(o, n),
		Outputs: sheet.OutputsOf(o, f.B.Name, f.spot().Workdir), Inputs: o.Inputs, Spent: e.bill(f, o, n), At: e.Clock()}
	if len(o.Metrics) > 0 {
		ev.Metrics = make(map[string]string, len(o.Metrics))
		for name, m := range o.Metrics {
			if m.Error == "" {
				ev.Metrics[name] = m.Text
			}
		}
		ev.Unread = e.unread(f, o)
	}
	e.emit(ev)
	e.arrived(f)
	switch {
	case f.p == nil:
		if f.End == fleet.Forget {
			e.emit(state.Forgot{Address: f.Key, At: e.Clock()})
		}
	case f.smoke:
		e.smokePassed(f, ev.Metrics, o)
	case f.End == fleet.Rerun:
		e.again(f)
	case f.outdated:
		e.startOver(f)
	default:
		f.p.Set(f.cell, cells.Done)
		e.countSuccess(f.p)
		f.p.Gate.Piloted(f.cell)
		e.completed(f.p, f.cell)
	}
}

// unread says which metrics of a job that did well have no value, and why. The
// first of a phase is told at once; status and report have all.
func (e *engine) unread(f *flight, o *offer.Observation) (out map[string]string) {
	for name, m := range o.Metrics {
		if m.Error == "" {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = m.Error
		if f.p != nil && !f.p.unread[name] {
			if f.p.unread == nil {
				f.p.unread = map[string]bool{}
			}
			f.p.unread[name] = true
			e.report.Note(f.Addr, f.Addr+": metric "+name+" has no value: "+m.Error, true)
		}
	}
	return out
}

// arrived lands a flight whose attempt is over.
func (e *engine) arrived(f *flight) {
	f.B.Pulse(e.Clock())
	e.land(f)
}

// cancelledAttempt tells our own cancels from those of somebody else.
func (e *engine) cancelledAttempt(f *flight, o *offer.Observation, n int) {
	if o.Reason == offer.Blocked || o.Class == offer.Blocked {
		f.End, f.by = fleet.Behind, "" // its queue gave it up
	}
	reason := o.Reason
	a := f.attemptOf(o, n)
	if f.ours() {
		a.Class = offer.Blocked
	}
	if f.End == fleet.Stays {
		a.Class = failure.CancelledOutside
		if reason == "" {
			reason = "cancelled from outside"
		}
	} else {
		reason = f.End.Reason(f.by) // what ended it from outside was muster
	}
	e.emit(state.Observed{Address: f.Addr, Token: f.Token, Status: state.Cancelled, Attempt: a, Reason: reason, Spent: e.bill(f, o, n), At: e.Clock()})
	e.conclude1(f)
}

// ours reports whether muster ends a flight for its own reasons: no person
// wants its job held.
func (f *flight) ours() bool { return f.End.Anew() || f.End == fleet.Forget }

// ended closes a flight without an observation: its backend does not have it.
func (e *engine) ended(f *flight, s state.Status, reason string) {
	a := state.Attempt{N: f.N, Token: f.LaunchToken(f.N), Ended: e.Clock()}
	if f.ours() {
		a.Class = offer.Blocked
	}
	e.emit(state.Observed{Address: f.Addr, Token: f.Token, Status: s, Attempt: a,
		Reason: reason, Spent: e.bill(f, &offer.Observation{}, f.N), At: e.Clock()})
	e.conclude1(f)
}

// conclude1 does what follows a cancel.
func (e *engine) conclude1(f *flight) {
	e.arrived(f)
	e.cancelled++
	switch {
	case f.p == nil || f.End == fleet.Forget:
		if f.End == fleet.Forget {
			e.emit(state.Forgot{Address: f.Key, At: e.Clock()})
		}
	case f.smoke:
		f.p.Gate.Mark(f.cell, cells.Cancelled)
		e.behindSmoke(f.p, f.cell)
		if f.End.Anew() {
			f.p.Gate.Retry(f.cell)
		}
	case f.End.Anew():
		e.again(f)
	case f.outdated && f.End == fleet.Stays:
		e.startOver(f)
	default:
		f.p.Set(f.cell, cells.Cancelled)
		e.unchain(f.p, f.cell)
		if f.End == fleet.Stays {
			e.report.Note(f.Addr, f.Addr+" was cancelled from outside; it is held until `muster resume`", true)
		}
	}
}
