package apply

import (
	"container/heap"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A dueRetry is a job that is tried again at a time.
type dueRetry struct {
	at   time.Time
	p    *phase
	cell int32
}

type retryQueue []dueRetry

func (q retryQueue) Len() int           { return len(q) }
func (q retryQueue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q retryQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *retryQueue) Push(x any)        { *q = append(*q, x.(dueRetry)) }
func (q *retryQueue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

// releaseRetries makes the jobs ready whose delay is over.
func (e *engine) releaseRetries() {
	now := e.Clock()
	for len(e.retries) > 0 {
		if r := e.retries[0]; r.at.After(now) {
			e.wakeAt(r.at)
			return
		}
		r := heap.Pop(&e.retries).(dueRetry)
		if r.p.at[r.cell] != waiting {
			continue // held or cancelled meanwhile
		}
		r.p.set(r.cell, pending)
		if r.p.waits[r.cell] == 0 {
			e.makeReady(r.p, r.cell)
		}
	}
}

// ridingRetry is the policy that goes with a job where its queue retries.
func (e *engine) ridingRetry(f *flight, s *spec) providers.Retry {
	if f.smoke || !f.b.can.Retries && !f.b.can.HostQueue {
		return providers.Retry{Max: 1}
	}
	r := s.retry
	r.Max = f.max
	return r
}

// rides reports whether the flight's queue retries by itself.
func (f *flight) rides() bool { return !f.smoke && (f.b.can.HostQueue || f.b.can.Retries) }

// retryable reports whether a class is in retry.on.
func retryable(r lang.Retry, class string) bool {
	for _, on := range r.On {
		if failure.Is(class, on) {
			return true
		}
	}
	return false
}

// attemptsLeft is how many launches a record still has.
func (e *engine) attemptsLeft(p *phase, rec *state.Job) int {
	n := 0
	if a := rec.Last(); a != nil {
		n = a.N
	}
	return max(1, p.Retry.MaxAttempts) - n
}

// failedAttempt folds a launch that failed for good as its queue sees it, and
// decides what follows.
func (e *engine) failedAttempt(f *flight, o *offer.Observation, n int) {
	if o.Class == "" || o.Status == offer.Lost {
		o = classified(e, f, o)
	}
	if f.end != endNot { // it failed before the cancel reached it
		e.cancelledAttempt(f, o, n)
		return
	}
	action := e.actionFor(f, o)
	if action == "retry" && o.Class == failure.Walltime && f.p.Checkpoint != nil {
		e.askCheckpoint(f, o, n)
		return
	}
	e.settleFailure(f, o, n, action)
}

// classified fills in a class where the backend gave none.
func classified(e *engine, f *flight, o *offer.Observation) *offer.Observation {
	c := *o
	if o.Status == offer.Lost {
		c.Class = failure.NodeFailure
		return &c
	}
	v := failure.Classify(evidence(&c), Rules(e.Campaign))
	if c.Class = v.Class; c.Class == "" {
		c.Class = failure.Unknown
	}
	return &c
}

func evidence(o *offer.Observation) failure.Evidence {
	return failure.Evidence{Exit: o.Exit, Signal: o.Signal, OOMKills: -1, HostOOMKills: -1, Tail: []byte(strings.Join(o.Tail, "\n")), GPUs: len(o.GPUs) > 0}
}

// actionFor is "retry", "hold" or "fail".
func (e *engine) actionFor(f *flight, o *offer.Observation) string {
	if f.smoke || f.p == nil {
		return "fail"
	}
	rule := ""
	for _, c := range e.Campaign.Failures {
		class := c.Class
		if class == "" {
			class = c.Name
		}
		if class == o.Class && c.Action != "" {
			rule = c.Action
			break
		}
	}
	if rule == "hold" || rule == "fail" {
		return rule
	}
	if infrastructure(o.Class) && e.paid(f) {
		// A paid machine that fails costs money each time: once more, whatever
		// the policy says of it.
		if e.infraRetries(f, n1(f)) < 1 {
			return "retry"
		}
		return "fail"
	}
	if f.rides() || f.n >= f.max {
		return "fail" // its queue has tried what the policy allows
	}
	if o.Class == failure.Walltime && f.p.Checkpoint == nil {
		return "fail" // it would come to the same end
	}
	if rule == "retry" || retryable(f.p.Retry, o.Class) {
		return "retry"
	}
	return "fail"
}

func n1(f *flight) int { return f.n }

func infrastructure(class string) bool {
	switch class {
	case failure.NodeFailure, failure.GPULost, failure.Transport, failure.NCCLHang:
		return true
	}
	return false
}

// paid reports whether a launch costs money.
func (e *engine) paid(f *flight) bool {
	if f.b.can.Rents {
		return true
	}
	if f.where == nil {
		return false
	}
	p := f.where.Price
	return p.Known && (positive(p.USDPerGPUHour) || positive(p.USDPerHour))
}

// infraRetries counts the earlier launches that their machine failed.
func (e *engine) infraRetries(f *flight, n int) int {
	count := 0
	if rec := e.st.Jobs[f.key]; rec != nil {
		for i := range rec.Attempts {
			if a := &rec.Attempts[i]; a.N < n && infrastructure(a.Class) {
				count++
			}
		}
	}
	return count
}

// askCheckpoint looks whether the checkpoint moved: a walltime hit without
// progress would only come to the same end.
func (e *engine) askCheckpoint(f *flight, o *offer.Observation, n int) {
	r, diags := f.p.Render(int(f.cell), lang.Site{Workdir: f.b.conf.Workdir, Backend: f.b.name, Pool: f.pool,
		SourceDir: f.p.code.dir(f.b.conf.Workdir), Input: func(name string) []string { return e.inputPaths(f, name) }})
	if diags.HasErrors() || r.Checkpoint == "" {
		e.settleFailure(f, o, n, "fail")
		return
	}
	f.mark(verifying)
	kept := *o
	var files []providers.FileInfo
	var err error
	e.call(f.b, func() {
		ctx, cancel := context.WithTimeout(e.ctx, askTimeout)
		defer cancel()
		files, err = f.b.p.List(ctx, f.b.name, []string{r.Checkpoint})
	}, func() {
		action := "fail"
		for _, fi := range files {
			if err == nil && time.Unix(0, fi.MTime).After(kept.Started) {
				action = "retry"
			}
		}
		e.settleFailure(f, &kept, n, action)
	})
}

// settleFailure records a failed launch and what follows.
func (e *engine) settleFailure(f *flight, o *offer.Observation, n int, action string) {
	ev := state.Observed{Address: f.addr, Token: f.token, Status: state.Failed, Attempt: attemptOf(f, o, n), Reason: o.Reason, Spent: e.bill(f, o, n), At: e.Clock()}
	if action == "retry" {
		ev.Status, ev.Retry = state.Waiting, e.Clock().Add(f.p.Retry.Delay)
	}
	e.emit(ev)
	e.arrived(f)
	switch {
	case f.p == nil:
		return
	case f.smoke:
		e.smokeFailed(f, failureText(o))
	case action == "retry":
		f.p.set(f.cell, waiting)
		heap.Push(&e.retries, dueRetry{at: ev.Retry, p: f.p, cell: f.cell})
		e.report.note(e, f.addr, fmt.Sprintf("%s failed (%s); launch %d of %d in %s", f.addr, o.Class, n+1, max(f.max, n+1), f.p.Retry.Delay), false)
		e.elsewhere(f, o.Class)
	case action == "hold":
		e.holdJob(f.p, f.cell, failureText(o))
		e.countFailure(f, o)
	default:
		f.p.set(f.cell, failed)
		e.unchain(f.p, f.cell)
		e.report.note(e, f.addr, f.addr+" failed: "+failureText(o), true)
		e.notify("failed", f.addr, f.addr+" failed: "+failureText(o))
		e.countFailure(f, o)
	}
}

// failureText is the class, the exit and the log's last line.
func failureText(o *offer.Observation) string {
	text := o.Class
	switch {
	case o.Signal != "":
		text += ", signal " + strings.TrimPrefix(o.Signal, "SIG")
	case o.Exit != nil:
		text += fmt.Sprintf(", exit %d", *o.Exit)
	}
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	for i := len(o.Tail) - 1; i >= 0; i-- {
		if line := strings.TrimSpace(o.Tail[i]); line != "" {
			return text + ": " + line
		}
	}
	return text
}

// elsewhere moves a retry to the next approved candidate where its class is
// about the machine.
func (e *engine) elsewhere(f *flight, class string) {
	switch class {
	case failure.Preempted, failure.NodeFailure, failure.GPULost:
	default:
		return
	}
	if next := e.nextCandidate(f); next != nil {
		next.Why = "re-placed after " + class + " on " + f.b.name
		f.p.replace(f.cell, next)
	}
}
