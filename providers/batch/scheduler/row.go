package scheduler

import (
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// An Entry is one job, or one element of an array, in the queue.
type Entry struct {
	ElementID
	Name    string // of the job
	Label   Label
	Pool    string
	Account string
	QoS     string
	Nodes   string // as the scheduler lists them: "cpu[1-2]"
	State   State
	End     End       // of one that has ended
	Reason  string    // why it waits, in words
	Before  End       // how the launch before this one ended, which the scheduler requeued; its Outcome is "" if it does not say
	Submit  time.Time // or when it was put back
	Start   time.Time // expected, while it waits; zero = not known
	HeldBy  offer.Holder
	// Unlaunched says that the scheduler holds it as it could not launch it.
	Unlaunched bool
}

// A State is how far a job in the queue has come.
type State int

const (
	// Unclear is any other state: nothing is concluded from it.
	Unclear State = iota
	// Waiting is a job that has no nodes. PENDING; Q, H and W of PBS.
	Waiting
	// Returning is one that was put back, or whose nodes are being started: it
	// has no node yet, and is not to be changed. REQUEUED, CONFIGURING; T of PBS.
	Returning
	// Running is a job whose script runs.
	Running
	// Stopped is one that has nodes and does not run, or is about to end.
	// SUSPENDED, COMPLETING; S, U and E of PBS.
	Stopped
	// Ended is one that has ended, for good. F and X of PBS.
	Ended
)
