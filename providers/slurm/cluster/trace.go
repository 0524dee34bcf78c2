package cluster

import "time"

// A Trace is what the queue and accounting have of an array some of whose
// elements are no more in the queue.
type Trace struct {
	Known     bool // accounting has rows of it
	Waits     bool // the queue has elements of it that wait to start
	Forgotten bool // accounting has as unfinished what the queue has not
}

// TraceOf is the trace of an array that was submitted under a name, no earlier
// than it was tried.
func TraceOf(array, name string, tried time.Time, queue map[Place]*QueueRow, acct map[Place]*History) (t Trace) {
	for at, r := range queue {
		t.Waits = t.Waits || at.Array == array && r.Name == name && r.State == "PENDING"
	}
	for at, h := range acct {
		if at.Array != array {
			continue
		}
		r := h.Last(name, tried)
		if r == nil {
			continue
		}
		t.Known = true
		if q := queue[at]; !r.Final() && (q == nil || q.Name != name) {
			t.Forgotten = true
		}
	}
	return t
}

// Cancelled reports whether an element that never started was cancelled, of
// which h is what accounting has. Slurm writes down no end of it: it has no row
// of its own, or is in the one of those that wait still, as it was when they were
// submitted. Seen on 22.05. A controller that was killed forgets all that waits of
// an array at once, and the end of what ran: then nobody has cancelled anything.
func (t Trace) Cancelled(h *History) bool {
	return t.Waits || h == nil && t.Known && !t.Forgotten
}
