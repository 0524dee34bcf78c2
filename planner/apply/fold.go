package apply

import (
	"slices"
	"strconv"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// observe folds what was seen of one job. What it says twice changes nothing.
func (e *engine) observe(b *backend, o *offer.Observation) {
	f := e.flights[stem(o.Token)]
	if f == nil || f.b != b || o.Presence == offer.Absent {
		return
	}
	if f.status == submitting && o.Status != "" {
		e.accepted(f, o.Handle)
	}
	if o.Duplicate != "" && o.Duplicate != f.handle {
		e.report.note(e, f.addr, f.addr+" is known twice on backend."+b.name+": the one that claimed its token runs, "+o.Duplicate+" does not", true)
	}
	n := o.Attempt
	if n < f.first {
		n = f.n
	}
	if n < f.n {
		e.late(f, o, n)
		return
	}
	f.n = n // more than before: a launch that its queue made by itself
	f.missed = 0
	switch o.Status {
	case offer.Queued:
		e.seen(f, o, n, state.Queued, queued)
	case offer.Running:
		e.seen(f, o, n, state.Running, running)
	case offer.Verifying:
		e.seen(f, o, n, state.Verifying, verifying)
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
	j := e.st.Jobs[f.key]
	if j == nil || slices.ContainsFunc(j.Attempts, func(a state.Attempt) bool { return a.N == n && !a.Ended.IsZero() && (a.Class != "" || a.Exit != nil) }) {
		return
	}
	was := f.paid
	if !slices.ContainsFunc(j.Attempts, func(a state.Attempt) bool { return a.N == n && (a.Class != "" || a.Exit != nil) }) {
		f.paid = n - 1 // it was never folded, so it was never paid
	}
	spent := e.bill(f, o, n)
	f.paid = max(f.paid, was)
	e.emit(state.Observed{Address: f.addr, Token: f.token, Status: state.Waiting, Attempt: attemptOf(f, o, n), Reason: o.Reason, Spent: spent, At: e.Clock()})
}

// seen notes a step that is not an end. A step that says nothing new leaves
// no event.
func (e *engine) seen(f *flight, o *offer.Observation, n int, s state.Status, to status) {
	if f.status == to && o.Expected.IsZero() && o.Reason == "" {
		return
	}
	if to != queued || !o.Expected.IsZero() || o.Reason != "" {
		e.emit(state.Observed{Address: f.addr, Token: f.token, Status: s, Attempt: attemptOf(f, o, n), Reason: o.Reason, At: e.Clock()})
	}
	if f.end == endNot {
		f.mark(to)
	} else {
		f.status = to
	}
}

// attemptOf is an observation as the state keeps it.
func attemptOf(f *flight, o *offer.Observation, n int) state.Attempt {
	a := state.Attempt{
		N: n, Token: launchToken(f, n), Backend: f.b.name, Pool: o.Pool, Handle: o.Handle, Started: o.Started, Ended: o.Ended,
		Node: o.Node, GPUs: o.GPUs, Exit: o.Exit, Signal: o.Signal, Class: o.Class, Tail: o.Tail, Expected: o.Expected,
	}
	if o.Status == offer.Completed {
		a.Tail = nil // the log keeps it
	}
	if u := o.Usage; u != nil {
		a.Usage = &state.Usage{Elapsed: u.Elapsed.Seconds(), CPU: u.CPU.Seconds(), MaxRSS: u.MaxRSS, GPUSeconds: u.GPUSeconds, GPUMaxMem: u.GPUMaxMem}
		if u.CPU < 0 {
			a.Usage.CPU = -1
		}
		if u.Elapsed < 0 {
			a.Usage.Elapsed = -1
		}
	}
	return a
}

// launchToken is TOKEN/N for a launch that a queue made by itself.
func launchToken(f *flight, n int) string {
	if n <= f.first {
		return f.token
	}
	return f.token + "/" + strconv.Itoa(n)
}

// launchEnded is for a launch that failed and that its queue tries again.
func (e *engine) launchEnded(f *flight, o *offer.Observation, n int) {
	e.emit(state.Observed{Address: f.addr, Token: f.token, Status: state.Waiting, Attempt: attemptOf(f, o, n), Reason: o.Reason,
		Retry: o.Expected, Spent: e.bill(f, o, n), At: e.Clock()})
	f.mark(waiting)
	e.report.note(e, f.addr, f.key+" failed ("+o.Class+") and is tried again", false)
}

// succeeded is the end that everything waits for: exit 0, every output
// verified and fresh.
func (e *engine) succeeded(f *flight, o *offer.Observation, n int) {
	ev := state.Observed{Address: f.addr, Token: f.token, Status: state.Completed, Attempt: attemptOf(f, o, n),
		Outputs: outputsOf(f, o), Spent: e.bill(f, o, n), At: e.Clock()}
	if len(o.Metrics) > 0 {
		ev.Metrics = make(map[string]string, len(o.Metrics))
		for name, m := range o.Metrics {
			if m.Error == "" {
				ev.Metrics[name] = m.Text
			}
		}
	}
	e.emit(ev)
	e.arrived(f)
	switch {
	case f.p == nil:
		if f.end == endForget {
			e.emit(state.Forgot{Address: f.key, At: e.Clock()})
		}
	case f.smoke:
		e.smokePassed(f, ev.Metrics, o)
	case f.end == endRerun:
		e.again(f)
	default:
		f.p.set(f.cell, done)
		f.p.breaker.success()
		f.p.gate.piloted(f.cell)
		e.completed(f.p, f.cell)
	}
}

// arrived lands a flight whose attempt is over.
func (e *engine) arrived(f *flight) {
	f.b.pulse(e.Clock())
	e.land(f)
}

func outputsOf(f *flight, o *offer.Observation) []state.Output {
	if len(o.Outputs) == 0 {
		return nil
	}
	out := make([]state.Output, len(o.Outputs))
	for i, v := range o.Outputs {
		out[i] = state.Output{Name: v.Name, Backend: f.b.name, Path: v.Path, Workdir: f.b.conf.Workdir, Size: v.Size,
			Digest: v.Digest, MTime: v.MTime, Inode: v.Inode, Files: v.Files}
	}
	return out
}

// cancelledAttempt tells our own cancels from those of somebody else.
func (e *engine) cancelledAttempt(f *flight, o *offer.Observation, n int) {
	if o.Reason == "blocked" || o.Class == "blocked" {
		f.end, f.by = endAgain, "" // its queue gave it up since what it came after failed
	}
	reason := o.Reason
	a := attemptOf(f, o, n)
	if f.end == endNot {
		a.Class = failure.CancelledOutside
		if reason == "" {
			reason = "cancelled from outside"
		}
	} else if reason == "" {
		reason = e.endReason(f)
	}
	e.emit(state.Observed{Address: f.addr, Token: f.token, Status: state.Cancelled, Attempt: a, Reason: reason, Spent: e.bill(f, o, n), At: e.Clock()})
	e.conclude1(f)
}

// ended closes a flight without an observation: its backend does not have it.
func (e *engine) ended(f *flight, s state.Status, reason string) {
	e.emit(state.Observed{Address: f.addr, Token: f.token, Status: s, Attempt: state.Attempt{N: f.n, Token: launchToken(f, f.n), Ended: e.Clock()},
		Reason: reason, At: e.Clock()})
	e.conclude1(f)
}

// conclude1 does what follows a cancel.
func (e *engine) conclude1(f *flight) {
	e.arrived(f)
	e.cancelled++
	switch {
	case f.p == nil || f.end == endForget:
		if f.end == endForget {
			e.emit(state.Forgot{Address: f.key, At: e.Clock()})
		}
	case f.smoke:
		f.p.gate.mark(f.cell, cancelled)
		if f.end == endRerun || f.end == endAgain {
			f.p.gate.retry(f.cell)
		}
	case f.end == endRerun, f.end == endAgain:
		e.again(f)
	default:
		f.p.set(f.cell, cancelled)
		if f.end == endNot {
			e.report.note(e, f.addr, f.addr+" was cancelled from outside; it is held until `muster resume`", true)
		}
	}
}

func (e *engine) endReason(f *flight) string {
	switch f.end {
	case endRerun:
		return "replaced: the job changed"
	case endAgain:
		return "submitted anew with another request"
	case endForget:
		return "not in the campaign any more"
	}
	if f.by != "" {
		return "cancelled by " + f.by
	}
	return "cancelled"
}
