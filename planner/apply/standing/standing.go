// Package standing is how a run stands, and how it ended, as those who look on are
// told.
package standing

import (
	"time"

	"github.com/muster-run/muster/planner/apply/cells"
)

// Run is a snapshot of one.
type Run struct {
	At      time.Time
	Started time.Time
	Phases  []Phase
	Note    string // a line worth printing now, "" if none
	Address string // what the note is about
	Bad     bool   // the note is about something that went wrong
	Waits   string // what the run waits for, when that is not jobs
	Final   bool
}

// A Phase counts the jobs of one.
type Phase struct {
	Phase     string
	Total     int // selected jobs
	Done      int // completed, before or now
	Before    int // of these, completed before this run
	Running   int
	Queued    int // in a queue, and start by themselves
	Verifying int
	Unknown   int       // their backend cannot be asked
	Waiting   int       // wait to be retried
	RetryAt   time.Time // when the last of these may start; zero where none waits for a time
	Pending   int
	Failed    int
	Held      int
	Blocked   int
	Cancelled int
	Late      int // of those running: longer than twice what completed jobs took
	Overdue   int // longer than three times
	// Unsubmitted jobs were given to a backend whose scheduler does not have them,
	// or has not answered yet; HeldThere are in its queue, held there.
	Unsubmitted, HeldThere int
	Smoke                  int    // smokes in flight
	Gate                   string // what the phase waits for: "smoke", "pilot", "breaker", "hold", ""
	Waits                  string // which ceiling keeps it from starting more, in words; "" for none
}

// Of counts the jobs of a phase, of which some are blocked.
func Of(name string, n *cells.Node, blocked int) Phase {
	c := &n.Counts
	return Phase{
		Phase: name, Total: len(n.At) - c[cells.Skipped] - c[cells.SkippedDone], Done: c[cells.Done],
		Running: c[cells.Running], Queued: c[cells.Queued], Unsubmitted: c[cells.Submitting], Unknown: c[cells.Unknown], Verifying: c[cells.Verifying], Waiting: c[cells.Waiting],
		Pending: c[cells.Pending] + c[cells.Ready] - blocked, Failed: c[cells.Failed], Held: c[cells.Held], Blocked: blocked,
		Cancelled: c[cells.Cancelled] + c[cells.Ending], Smoke: n.Gate.Flying(),
	}
}
