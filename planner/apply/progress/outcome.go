package progress

import (
	"cmp"
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/state"
)

// A Stop is why a run ended before its work did.
type Stop string

// The reasons. None means that nothing is left to start.
const (
	None        Stop = ""
	Budget      Stop = "budget"
	Hold        Stop = "hold"
	Interrupted Stop = "interrupted"
	Beyond      Stop = "beyond approval"
	Detached    Stop = "detached"
	LeaseLost   Stop = "lease lost"
	StoreFailed Stop = "store failed"
)

// Outcome is how a run ended. Counts include jobs that the campaign wants,
// smokes apart.
type Outcome struct {
	Stopped Stop
	Why     string // in words: the budget, the hold, or the limit
	// Approval, with Budget, says that the limit is the ceiling that was approved: a
	// new approval raises it, and no budget has to be.
	Approval bool

	Total     int
	Done      int // completed and verified
	Failed    int
	Held      int
	LetGo     int // of the held: held when the plan was made, and by nothing any more
	LeftOut   int // of the held: left out by the plan, because their backend cannot be asked
	Blocked   int // wait for something failed or held
	Altered   int // done, and an output holds other bytes now
	Changed   int // done, and an input holds other bytes now
	Unknown   int // their backend cannot be asked
	Running   int
	Queued    int    // in a backend's queue, and start by themselves unless a hold is set
	HeldThere int    // in a backend's queue, and held there: by muster until the rest is in, or by somebody else
	Unsent    int    // given to a backend that could not submit them, or has not said whether it did
	Left      int    // not submitted
	Idle      int    // of the left, at the end of a run that stays: nothing keeps them from starting, and they did not
	Skipped   int    // not selected
	Cancelled int    // ended by this run
	Smokes    int    // smokes in flight
	Smoke     string // a job whose smoke did not pass and holds its phase, "" for none
	Deleted   int    // outputs that a destroy deleted
	Undeleted int    // and that it could not

	LeftOutWhy string // the backend, and why it cannot be asked
	UnsentWhy  string // the reason that their backend gave
	HeldWhy    string // who holds those that are held in a queue

	QueuedOn  []BackendCount // where the queued ones are, most first
	Submitted int            // submitted by this run
	First     string         // Detach, Once: the first thing that needs muster
	Next      string         // the command that carries on, "" when none is needed
	Results   []lang.ResultValue
	Spent     state.Amounts  // by this run
	Rentals   []state.Rental // that are billed still, by id
	Released  int            // machines that a destroy planned to release, and that are gone
}

// A BackendCount is a number of jobs on a backend.
type BackendCount struct {
	Backend string
	Jobs    int
}

// Count is the progress of a run: its cells by present status, phase by phase in the order of
// the campaign.
func Count(phases []*cells.Vertex) Outcome {
	var o Outcome
	blocked := cells.Blocked(phases)
	for i, p := range phases {
		c := &p.Counts
		o.Done += c[cells.Done]
		o.Failed += c[cells.Failed]
		o.Held += c[cells.Held]
		o.Unknown += c[cells.Unknown]
		o.Altered += c[cells.Altered]
		o.Changed += c[cells.Changed]
		o.Running += c[cells.Running] + c[cells.Verifying] + c[cells.Ending]
		o.Queued += c[cells.Queued]
		o.Unsent += c[cells.Submitting]
		o.Cancelled += c[cells.Cancelled]
		o.Skipped += c[cells.Skipped] + c[cells.SkippedDone]
		o.Blocked += blocked[i]
		o.Left += c[cells.Pending] + c[cells.Ready] + c[cells.Waiting] + c[cells.Checking] - blocked[i]
		o.Total += len(p.At) - c[cells.Skipped] - c[cells.SkippedDone]
		o.Smokes += p.Gate.InFlight()
	}
	return o
}

// Waiting is how many jobs have yet to start, wherever they wait.
func (o *Outcome) Waiting() int { return o.Queued + o.HeldThere + o.Unsent + o.Left }

// Stranded reports whether jobs were given to a backend and yet do not start by
// themselves: they were not submitted, or their queue holds them.
func (o *Outcome) Stranded() bool { return o.UnsentWhy != "" || o.HeldThere > 0 || o.HeldWhy != "" }

// QueueOn notes how many jobs are in the queues of backends, by their names.
func (o *Outcome) QueueOn(jobs map[string]int) {
	for name, n := range jobs {
		o.QueuedOn = append(o.QueuedOn, BackendCount{name, n})
	}
	slices.SortFunc(o.QueuedOn, func(a, b BackendCount) int {
		return cmp.Or(cmp.Compare(b.Jobs, a.Jobs), cmp.Compare(a.Backend, b.Backend))
	})
}

// Verdict is the record of a plan that came to its end: "done", "held", or "stopped by
// budget"; "" while the same command would continue it. A run that does not stay (Once,
// Detach) ends nothing while jobs remain.
func (o *Outcome) Verdict(stays, held bool) string {
	left := o.Running + o.Waiting()
	switch {
	case o.Stopped == Interrupted, o.Stopped == LeaseLost, o.Stopped == StoreFailed, o.Stopped == Beyond, !stays && left > 0:
		return ""
	case o.Stopped == Budget:
		return "stopped by budget"
	case held:
		return ""
	case o.Failed+o.Held+o.Blocked+o.Cancelled+o.Changed > 0:
		return "held"
	case left+o.Unknown > 0:
		return ""
	}
	return "done"
}
