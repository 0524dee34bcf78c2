// Package cells keeps the status of every cell of a phase in a run: its queues,
// the cells it waits for, the cells that wait for it, and its gate. It decides
// nothing and costs a few bytes a cell.
package cells

// Status is where a cell is for the engine. One byte a job.
type Status uint8

// The statuses, as the engine's state machine has them.
const (
	Skipped     Status = iota // not selected, and not completed
	SkippedDone               // not selected, but its outputs are there
	Pending                   // waits for inputs
	Ready                     // in a queue of its phase
	Submitting                // intent minted, no answer yet
	Queued
	Running
	Verifying
	Waiting // failed, will be tried again
	Done
	Failed
	Held
	Cancelled
	Unknown  // in flight, and its backend cannot be asked
	Ending   // being cancelled
	Altered  // done, and an output holds other bytes than were recorded
	Checking // done, if the files that it read hold the bytes that were recorded
	Changed  // done, and a file that it read holds other bytes than were recorded
	statuses
)

// InFlight reports whether a backend has or may have the job.
func (s Status) InFlight() bool {
	switch s {
	case Submitting, Queued, Running, Verifying, Unknown, Ending:
		return true
	}
	return false
}

// ToStart reports whether a job waits to start, here or in the queue of a backend.
func (s Status) ToStart() bool {
	switch s {
	case Pending, Ready, Waiting, Submitting, Queued:
		return true
	}
	return false
}

// Satisfied reports whether cells that wait for this one may continue.
func (s Status) Satisfied() bool { return s == Done || s == SkippedDone }

// A Tally is the statuses of a phase's cells, and how many have each: 5 bytes
// a cell.
type Tally struct {
	At     []Status
	Waits  []int32 // inputs and phases that a cell still waits for
	Counts [statuses]int
}

// NewTally counts n cells, all skipped.
func NewTally(n int) Tally {
	t := Tally{At: make([]Status, n), Waits: make([]int32, n)}
	t.Counts[Skipped] = n
	return t
}

// Set moves a cell to a status.
func (t *Tally) Set(cell int32, s Status) {
	old := t.At[cell]
	if old == s {
		return
	}
	t.Counts[old]--
	t.Counts[s]++
	t.At[cell] = s
}
