package scheduler

import (
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// A Record is one launch of a job, as accounting has it.
type Record struct {
	ElementID
	Name   string // of the job
	Submit time.Time
	Start  time.Time // zero: it never ran
	Finish time.Time // zero: it has not ended
	Nodes  string
	Cores  int // that it was given, on all of its nodes; 0 = not known
	End    End
	Usage  *offer.Usage // nil: it never ran
}

// An End is how a scheduler says that a launch ended; the zero End means that it has not
// ended.
type End struct {
	Outcome Outcome
	Said    string // in the scheduler's own words: "CANCELLED by 1000"
	// By is who cancelled it, in words that follow "cancelled in NAME": " by
	// yourself"; "" = nobody is named.
	By string
	// ByDaemon says that the scheduler's own daemon cancelled it on its node.
	ByDaemon bool
	Exit     int // status, 0 to 255
	Signal   int // number; 0 = none
}

// An Outcome is the end of a launch in one word of the failure catalogue.
type Outcome string

// Outcomes. Requeued is the end of one launch only.
const (
	Completed   Outcome = "COMPLETED"
	Failed      Outcome = "FAILED"
	Cancelled   Outcome = "CANCELLED"
	TimedOut    Outcome = "TIMEOUT"
	OutOfMemory Outcome = "OUT_OF_MEMORY"
	NodeFailed  Outcome = "NODE_FAIL"
	BootFailed  Outcome = "BOOT_FAIL"
	Preempted   Outcome = "PREEMPTED"
	Deadline    Outcome = "DEADLINE"
	Requeued    Outcome = "REQUEUED"
)

// Final reports whether nothing follows.
func (e End) Final() bool { return e.Outcome != "" && e.Outcome != Requeued }

// A History is accounting's record of one job: its launches, oldest first.
type History []Record

// Histories are launches by job.
func Histories(list []Record) map[ElementID]History {
	out := map[ElementID]History{}
	for _, l := range list {
		out[l.ElementID] = append(out[l.ElementID], l)
	}
	return out
}

// ours reports whether a launch has a job name and was submitted after muster tried to:
// schedulers reuse ids.
func (l *Record) ours(name string, tried time.Time) bool {
	return l.Name == name && !l.Submit.Before(tried.Add(-clockMargin))
}

// Last is the newest launch of a job name that was submitted after it was tried;
// nil if there is none.
func (h History) Last(name string, tried time.Time) *Record {
	for i := len(h) - 1; i >= 0; i-- {
		if h[i].ours(name, tried) {
			return &h[i]
		}
	}
	return nil
}

// Restart is a requeued launch: the one during which its script began, or, if
// began is zero, the one of that number. It is nil while accounting does not have
// the launch's end.
func (h History) Restart(name string, tried time.Time, restart int, began time.Time) *Record {
	n := 0
	for i := range h {
		l := &h[i]
		if !l.ours(name, tried) {
			continue
		}
		its := n == restart
		if !began.IsZero() { // times are whole seconds
			its = !l.Start.IsZero() && !l.Start.After(began.Add(time.Second)) && !l.Finish.Before(began.Add(-time.Second))
		}
		if its && !l.Finish.IsZero() && l.End.Outcome != "" {
			return l
		}
		n++
	}
	return nil
}

// A Trace is the record, in the queue and in accounting, of an array that some
// elements have left.
type Trace struct {
	Known     bool // accounting has launches of it
	Waits     bool // the queue has elements of it that wait to start
	Forgotten bool // accounting has an unfinished job that the queue does not have
}

// TraceOf is the trace of an array with a name that was submitted after it was
// tried.
func TraceOf(array, name string, tried time.Time, queue map[ElementID]*Entry, acct map[ElementID]History) (t Trace) {
	for at, r := range queue {
		t.Waits = t.Waits || at.Array == array && r.Name == name && r.State == Waiting
	}
	for at, h := range acct {
		if at.Array != array {
			continue
		}
		l := h.Last(name, tried)
		if l == nil {
			continue
		}
		t.Known = true
		if q := queue[at]; !l.End.Final() && (q == nil || q.Name != name) {
			t.Forgotten = true
		}
	}
	return t
}

// Cancelled reports whether an element that never started was cancelled; h is its
// history. Slurm records no end of it: it has no row of its own, or is in the row
// of the waiting elements, as submitted. Seen on 22.05. A server that crashes
// forgets all waiting elements of an array at once, and the ends of others: then
// nobody cancelled it.
func (t Trace) Cancelled(h History) bool {
	return t.Waits || h == nil && t.Known && !t.Forgotten
}
