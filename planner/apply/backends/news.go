package backends

import (
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// News is an event: of an attempt, of a queue, or of its driver.
type News interface{ news() }

// Of an attempt.
type (
	// Accepted is an intent that its backend has: it is queued there.
	Accepted struct{ *Attempt }
	// Moved is an attempt whose status changed for it was found, or cannot be.
	Moved struct{ *Attempt }
	// Seen is the status of an attempt's launch N.
	Seen struct {
		*Attempt
		O *offer.Observation
	}
	// Late is the end of a launch that is heard of after a later one.
	Late struct {
		*Attempt
		O      *offer.Observation
		Launch int
	}
	// Absent is an intent that surely did not arrive.
	Absent struct{ *Attempt }
	// Refused is one that its backend does not take.
	Refused struct {
		*Attempt
		Err *providers.Error
	}
	// Unsent is an intent that never left, taken out of the outbox.
	Unsent struct {
		*Attempt
		Why string
	}
	// Cancelling is an attempt whose backend was asked to end it.
	Cancelling struct{ *Attempt }
	// Gone is an attempt to be cancelled that its backend does not have; Why is "" when it
	// ended by the cancel.
	Gone struct {
		*Attempt
		Why string
	}
)

// Of anything else.
type (
	// Met says that a place listed its pools again, or that a queue was added.
	Met struct{}
	// Room says that a queue's volume was checked; Was is the earlier value of
	// Full.
	Room struct {
		*Backend
		Was string
	}
	// Lost says that a queue does not answer, and that its jobs are unknown.
	Lost struct{ *Backend }
	// Answered says that one that was lost can be asked again.
	Answered struct{ *Backend }
	// Tripped says that a place starts no more jobs of a phase, or of a setting of its trial.
	Tripped struct{ Phase, By, Why string }
	// Rented is a machine of which something changed.
	Rented struct {
		Backend string
		Machine offer.Rental
	}
	// LetGo are jobs that their queue holds no more.
	LetGo struct{ Attempts []*Attempt }
	// Untaken are jobs whose hold, or release, did not arrive, some time ago.
	Untaken struct {
		*Backend
		Tokens []string
		Hold   bool
	}
	// Unheld are jobs that a queue does not hold, and why.
	Unheld struct {
		*Backend
		Attempts []*Attempt
		Why      string
	}
	// Overtaken says that a backend serves a later holder of the lease.
	Overtaken struct {
		*Backend
		Err error
	}
)

func (Accepted) news()   {}
func (Moved) news()      {}
func (Seen) news()       {}
func (Late) news()       {}
func (Absent) news()     {}
func (Refused) news()    {}
func (Unsent) news()     {}
func (Cancelling) news() {}
func (Gone) news()       {}
func (Met) news()        {}
func (Room) news()       {}
func (Lost) news()       {}
func (Answered) news()   {}
func (Tripped) news()    {}
func (LetGo) news()      {}
func (Rented) news()     {}
func (Untaken) news()    {}
func (Unheld) news()     {}
func (Overtaken) news()  {}
