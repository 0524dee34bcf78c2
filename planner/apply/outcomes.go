package apply

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/planner/apply/ledger"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/retry"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// outcomes record observations of attempts, and decide what follows.
type outcomes struct {
	*jobs
	accounts  *accounts
	breakers  *breakers
	builder   *builder
	gates     *gates
	holds     *holds
	inputs    *inputs
	limits    *limits
	placement *placement
	schedule  *schedule
	cancelled int // attempts that ended as cancelled
}

// observe folds an observation of one job. A repeated one changes nothing.
func (oc *outcomes) observe(f *attempt, o *offer.Observation) {
	n := f.N
	oc.machine(f.B.Name, o.Rental)
	oc.noted(f, o)
	switch {
	case o.Status == offer.Waiting && f.short != "" && n <= f.tab.Paid:
		return // the launch that ended is known, and the next is held
	case o.Status != offer.Queued:
		oc.limits.begun(f)
	}
	if ran := o.Status == offer.Running || o.Status == offer.Verifying || o.Status == offer.Completed; ran && f.Status != cells.Running && f.Status != cells.Verifying {
		oc.holds.started(f.B)
	}
	switch o.Status {
	case offer.Queued:
		oc.seen(f, o, n, state.Queued, cells.Queued)
		oc.tellHolder(f)
		oc.holds.queueStartsNothing(f.B, o)
		oc.holds.releaseForgotten(f, o)
		oc.schedule.backInQueue(f)
	case offer.Running:
		oc.seen(f, o, n, state.Running, cells.Running)
	case offer.Verifying:
		oc.seen(f, o, n, state.Verifying, cells.Verifying)
	case offer.Waiting:
		oc.launchEnded(f, o, n)
	case offer.Completed:
		oc.succeeded(f, o, n)
	case offer.Failed, offer.Lost:
		oc.failedAttempt(f, o, n)
	case offer.Cancelled:
		oc.cancelledAttempt(f, o, n)
	}
}

// noted records, with a job, what a backend did with the job's files, each
// once.
func (oc *outcomes) noted(f *attempt, o *offer.Observation) {
	for _, text := range o.Notes {
		text = fmt.Sprintf("attempt %d: %s", o.Attempt, text)
		if f.smoke || slices.ContainsFunc(oc.st.Notes[f.Addr], func(n state.Note) bool { return n.Text == text }) {
			continue
		}
		oc.Emit(state.Noted{Note: state.Note{Address: f.Addr, Who: state.Muster, Text: text, At: oc.Clock()}})
		oc.Note(f.Addr, f.Key+": "+text, false)
	}
}

// late folds the end of a launch that is heard of after a later one: it is
// recorded and paid for, and moves nothing.
func (oc *outcomes) late(f *attempt, o *offer.Observation, n int) {
	if o.Status == offer.Queued || o.Status == offer.Running || o.Status == offer.Verifying {
		return
	}
	oc.noted(f, o)
	j := oc.st.Jobs[f.Key]
	if j == nil || slices.ContainsFunc(j.Attempts, func(a state.Attempt) bool { return a.N == n && !a.Ended.IsZero() && (a.Class != "" || a.Exit != nil) }) {
		return
	}
	spent := oc.accounts.bill(f, o, n)
	if en, ok := oc.accounts.budgets.Correct(&f.tab, oc.accounts.launched(f, o, n), oc.Clock()); ok {
		spent = &en
		oc.accounts.warnOfBudgets()
	}
	oc.Emit(state.Observed{Address: f.Addr, Token: f.Token, Status: state.Waiting, Attempt: f.attemptOf(o, n), Reason: o.Reason, Spent: spent, At: oc.Clock()})
}

// seen notes a step that is not an end. A step that says nothing new leaves
// no event; that a job is held no more is new.
func (oc *outcomes) seen(f *attempt, o *offer.Observation, n int, s state.Status, to cells.Status) {
	rec := oc.st.Jobs[f.Key]
	if o.Cause == offer.CampaignHeld && !oc.holds.All { // its queue has not been told yet
		copied := *o
		copied.Reason, copied.Cause = "", ""
		o = &copied
	}
	says := !o.Expected.IsZero() || o.Reason != "" || rec != nil && (rec.Reason != o.Reason || rec.Cause != string(o.Cause)) || f.stageChanged(rec)
	if s == state.Running && o.Reason != "" && rec != nil && rec.Reason != o.Reason {
		oc.Note(f.Addr, f.Key+": "+o.Reason, false)
	}
	if f.Status == to && !says {
		return
	}
	if to != cells.Queued || says {
		a := f.attemptOf(o, n)
		if to == cells.Queued && f.stageChanged(rec) {
			a.Stage = string(f.Stage)
		}
		oc.Emit(state.Observed{Address: f.Addr, Token: f.Token, Status: s, Attempt: a, Reason: o.Reason, Cause: string(o.Cause), Short: f.short, At: oc.Clock()})
	}
	if f.End == backends.Stays {
		f.mark(to)
	} else {
		f.Status = to
	}
}

// tellHolder says once that somebody else holds a job in its queue.
func (oc *outcomes) tellHolder(f *attempt) {
	if f.HeldBy == f.told || f.p == nil || !oc.holds.mayStart(f) {
		return
	}
	if f.told = f.HeldBy; f.told != "" {
		oc.report.NoteHeld("phase."+f.p.Name, f.Addr, f.holder())
	}
}

// stageChanged reports whether a record has another stage of its last attempt.
func (f *attempt) stageChanged(rec *state.Job) bool {
	if rec == nil || rec.Last() == nil {
		return false
	}
	was := rec.Last().Stage
	return was != string(f.Stage) && (was != "" || f.Stage != offer.Released)
}

// attemptOf is an observation as the state keeps it.
func (f *attempt) attemptOf(o *offer.Observation, n int) state.Attempt {
	a := jobspec.Attempt(f.B.Name, f.LaunchToken(n), o, n)
	if o.Got != nil && f.asked != nil && n > f.First {
		got := *o.Got
		got.Walltime = max(got.Walltime, f.asked.Walltime) // a queue may have been told to end it earlier
		a.Scaled = retry.Changes(f.given(*f.asked), f.given(got))
	}
	return a
}

// given is a shape as its place gives it: cores that a scheduler gives to every
// launch are no growth.
func (f *attempt) given(s offer.Shape) offer.Shape {
	if f.where != nil {
		return f.where.Price.Given(s)
	}
	return s
}

// launchEnded is for a launch that failed and that its queue tries again.
func (oc *outcomes) launchEnded(f *attempt, o *offer.Observation, n int) {
	oc.Emit(state.Observed{Address: f.Addr, Token: f.Token, Status: state.Waiting, Attempt: f.attemptOf(o, n), Reason: o.Reason,
		Retry: o.Expected, Spent: oc.accounts.bill(f, o, n), At: oc.Clock()})
	f.mark(cells.Waiting)
	f.roomLost(o.Class)
	next := "; retrying"
	if f.cutByTime(o.Class) {
		next = "; the next launch continues from its checkpoint"
	}
	if why := oc.accounts.budgets.Refuses(&f.tab, oc.Clock()); why != "" && f.End == backends.Stays {
		next, f.by = "; not retried: "+why, "muster: "+why
		f.EndAs(backends.Hold)
		oc.backends.Cancel()
	}
	oc.Note(f.Addr, f.Key+" "+f.ending(o)+next, f.End != backends.Stays)
}

// succeeded is the end that everything waits for: exit 0, every output
// verified and fresh.
func (oc *outcomes) succeeded(f *attempt, o *offer.Observation, n int) {
	if f.imported && len(o.Outputs) == 0 && f.p != nil && len(f.p.Outputs) > 0 {
		oc.verifyImport(f, o, n)
		return
	}
	ev := state.Observed{Address: f.Addr, Token: f.Token, Status: state.Completed, Attempt: f.attemptOf(o, n),
		Outputs: jobspec.OutputsOf(o, f.B.Name, f.workdir()), Inputs: o.Inputs, Spent: oc.accounts.bill(f, o, n), At: oc.Clock()}
	ev.Metrics, ev.Unread = oc.metrics(f.p, f.Addr, o.Metrics)
	oc.Emit(ev)
	oc.arrived(f)
	switch {
	case f.p == nil, f.oldSmoke():
		oc.forget(f)
	case f.smoke:
		oc.gates.smokePassed(f, ev.Metrics, o)
	case f.End == backends.Rerun:
		oc.schedule.again(f)
	case f.outdated:
		oc.schedule.startOver(f)
	default:
		f.p.Set(f.cell, cells.Done)
		oc.breakers.countSuccess(f)
		f.p.Gate.Piloted(f.cell)
		oc.schedule.completed(f.p, f.cell)
	}
}

// arrived lands an attempt whose attempt is over.
func (oc *outcomes) arrived(f *attempt) {
	f.B.Pulse(oc.Clock())
	oc.accounts.land(f)
}

// cancelledAttempt tells our own cancels from those of somebody else.
func (oc *outcomes) cancelledAttempt(f *attempt, o *offer.Observation, n int) {
	if o.GivenUp() && f.End == backends.Stays {
		f.End, f.by = backends.Behind, "" // its queue gave it up
	}
	reason := o.Reason
	a := f.attemptOf(o, n)
	if f.ours() {
		a.Class = offer.Blocked
	}
	if f.End == backends.Stays {
		a.Class = failure.CancelledOutside
		if reason == "" {
			reason = "cancelled from outside"
		}
	} else {
		reason = f.End.Reason(f.by) // muster ended it from outside
		if f.End == backends.Hold && f.by != "" {
			a.Class = "" // of the failure after which it waited for another launch
		}
	}
	oc.Emit(state.Observed{Address: f.Addr, Token: f.Token, Status: state.Cancelled, Attempt: a, Reason: reason, Spent: oc.accounts.bill(f, o, n), At: oc.Clock()})
	if f.End == backends.Hold && f.by != "" {
		oc.cancelledAsPlanned(f, reason)
	}
	oc.afterCancel(f)
}

// cancelledAsPlanned records a job that a person cancelled as the plan has it: its launch may
// belong to an earlier one, and a changed job starts again.
func (oc *outcomes) cancelledAsPlanned(f *attempt, reason string) {
	if oc.quiet || f.p == nil || f.smoke {
		return
	}
	now, rec := oc.builder.identity(f.p, f.cell), oc.st.Jobs[f.Key]
	if rec != nil && (rec.Result != now.Result || rec.Request != now.Request) {
		oc.Emit(state.HeldJob{Address: f.Key, Reason: reason, By: f.by, Cancelled: true, At: oc.Clock(), Job: &now})
	}
}

// ours reports whether muster ends an attempt for its own reasons: no person
// wants its job held.
func (f *attempt) ours() bool { return f.End.Restarts() || f.End == backends.Forget }

// ended closes an attempt without an observation: its backend does not have it.
func (oc *outcomes) ended(f *attempt, s state.Status, reason string) {
	a := state.Attempt{N: f.N, Token: f.LaunchToken(f.N), Ended: oc.Clock()}
	if f.ours() {
		a.Class = offer.Blocked
	}
	oc.Emit(state.Observed{Address: f.Addr, Token: f.Token, Status: s, Attempt: a,
		Reason: reason, Spent: oc.accounts.bill(f, &offer.Observation{}, f.N), At: oc.Clock()})
	oc.afterCancel(f)
}

// afterCancel takes the step that follows a cancel.
func (oc *outcomes) afterCancel(f *attempt) {
	oc.arrived(f)
	oc.cancelled++
	switch {
	case f.p == nil, f.End == backends.Forget, f.oldSmoke():
		oc.forget(f)
	case f.smoke:
		f.p.Gate.Mark(f.cell, cells.Cancelled)
		oc.schedule.behindSmoke(f.p, f.cell)
		switch {
		case f.End.Restarts():
			f.p.Gate.Retry(f.cell)
		case f.End == backends.Stays:
			oc.Note(f.Addr, "the smoke of "+f.Addr+" was cancelled from outside; phase."+f.p.Name+" is held until `muster resume`", true)
		}
	case f.End.Restarts():
		oc.schedule.again(f)
	case f.outdated && f.End == backends.Stays:
		oc.schedule.startOver(f)
	default:
		f.p.Set(f.cell, cells.Cancelled)
		oc.schedule.unchain(f.p, f.cell)
		if f.End == backends.Stays {
			oc.Note(f.Addr, f.Addr+" was cancelled from outside; it is held until `muster resume`", true)
		}
	}
}

// oldSmoke reports whether an attempt is a smoke of another configuration: however it ends,
// that says nothing about its phase.
func (f *attempt) oldSmoke() bool {
	return f.p != nil && f.smoke && (f.End == backends.Forget || f.outdated && f.End != backends.Hold)
}

// forget drops the record of an attempt that is not wanted any more. An old smoke makes way
// for that of its phase as it is now.
func (oc *outcomes) forget(f *attempt) {
	if f.End == backends.Forget {
		oc.Emit(state.Forgot{Address: f.Key, At: oc.Clock()})
	}
	if f.oldSmoke() {
		oc.schedule.again(f)
	}
}

// resubmit sends an intent whose job surely did not arrive, under its token.
func (oc *outcomes) resubmit(f *attempt) {
	if f.p == nil || oc.quiet || oc.Stopped() && oc.Mode == Drive && oc.halted != progress.Interrupted {
		oc.withdraw(f, "not wanted any more")
		return
	}
	if f.orphaned {
		oc.withdraw(f, "a job that it waits for has failed")
		return
	}
	if f.Job == nil {
		rec := oc.st.Jobs[f.Key]
		if rec != nil && f.became(rec) {
			oc.withdraw(f, "its definition changed before it was submitted")
			return
		}
		if v, _ := oc.inputs.codeHere(f.p, f.B, f.Pool); v != started || !oc.inputs.inputsReady(f) || !oc.inputs.inputsFound(f) {
			oc.withdraw(f, "its inputs must be found again")
			return
		}
		job, _, diags := oc.builder.build(f)
		if diags.HasErrors() {
			oc.withdraw(f, "its definition cannot be evaluated")
			oc.gates.refuse(f, diags)
			return
		}
		f.Job = job
		if f.where != nil && f.tab.Dearer(ledger.TariffOf(f.where), *f.asked) {
			oc.withdraw(f, f.B.Title()+" quotes a higher price than when the job was prepared")
			return
		}
	}
	if !oc.accounts.budgets.Covers(&f.tab, oc.Clock()) {
		oc.withdraw(f, oc.accounts.budgets.Why)
		return
	}
	oc.backends.Mint(&f.Attempt)
}

// withdraw takes an intent back; its cell starts again where it is wanted.
func (oc *outcomes) withdraw(f *attempt, why string) {
	oc.Emit(state.NotSubmitted{Address: f.Addr, Token: f.Token, Reason: why, At: oc.Clock()})
	oc.accounts.land(f)
	oc.schedule.again(f)
}

// refused is for one job that its backend does not take: the next approved
// candidate gets it, else it is held.
func (oc *outcomes) refused(f *attempt, err *providers.Error) {
	if oc.attempts[f.Token] != f {
		return
	}
	if next := oc.placement.nextCandidate(f, "re-placed: "+f.B.Name+" "+f.Pool+" refused it"); next != nil {
		oc.Emit(state.NotSubmitted{Address: f.Addr, Token: f.Token, Reason: err.Error(), At: oc.Clock()})
		oc.accounts.land(f)
		oc.Note(f.Addr, f.Addr+" goes to "+next.Backend+" "+next.Pool+": "+err.Error(), false)
		f.p.places.Move(f.cell, next)
		oc.schedule.again(f)
		return
	}
	if oc.backends.Opening > 0 && !f.smoke {
		oc.Later(connection.BackoffMin, func() { oc.refused(f, err) })
		return
	}
	text := err.Error()
	if err.Hint != "" {
		text += " (" + err.Hint + ")"
	}
	if f.smoke {
		oc.Emit(state.NotSubmitted{Address: f.Addr, Token: f.Token, Reason: text, At: oc.Clock()})
		oc.accounts.land(f)
		oc.gates.smokeFailed(f, text)
		return
	}
	oc.schedule.holdJob(f.p, f.cell, text)
	oc.Emit(state.NotSubmitted{Address: f.Addr, Token: f.Token, Reason: text, At: oc.Clock()})
	oc.accounts.land(f)
}
