package apply

import (
	"errors"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/loop"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

// A run is shared by every part of the engine: the plan, the state and its journal, the
// backends, and whether anything new may start. An event is appended before whatever depends
// on it is sent; after an error nothing is appended and nothing is sent.
type run struct {
	Config
	*loop.Loop
	st       *state.State
	backends *backends.Set
	report   *progress.Reporter
	approval string // plan id that new attempts are recorded under

	quiet    bool          // nothing is sent: a request is done, or the results of jobs are read
	halted   progress.Stop // nothing new is started
	why      string        // in words
	err      error
	first    string    // first thing that needs muster, in a run that leaves its jobs to backends
	unsynced time.Time // when the oldest unsynced event was appended; zero = none
	wake     time.Time // earliest timer
}

// leavesJobs reports whether this run leaves jobs to run without muster.
func (r *run) leavesJobs() bool { return r.Mode != Drive }

// needs notes the first thing that muster has to do.
func (r *run) needs(what string) {
	if r.first == "" {
		r.first = what
	}
}

func (r *run) wakeAt(t time.Time) { r.wake = clock.Earliest(r.wake, t) }

// Clock is the time that the run lives by.
func (r *run) Clock() time.Time { return r.Time.Now() }

// Emit folds an event into the state. After an error nothing is folded.
func (r *run) Emit(ev state.Event) {
	if r.err != nil {
		return
	}
	if err := r.Session.Append(ev); err != nil {
		r.storeFailed(err)
		return
	}
	if r.unsynced.IsZero() {
		r.unsynced = r.Clock()
	}
	if r.Event != nil {
		r.report.Tell(func() { r.Event(ev) })
	}
}

// commit makes appended events durable when something depends on them or they have waited long
// enough. It reports whether the outboxes may be sent.
func (r *run) commit() bool {
	if r.err != nil {
		return false
	}
	if r.unsynced.IsZero() {
		return true
	}
	if !r.backends.Outgoing() && r.Clock().Sub(r.unsynced) < syncAtLeast {
		return false
	}
	return r.Sync()
}

// Sync makes appended events durable; false once the state cannot be written.
func (r *run) Sync() bool {
	if r.err != nil {
		return false
	}
	if err := r.Session.Sync(r.Context()); err != nil {
		r.storeFailed(err)
		return false
	}
	r.unsynced = time.Time{}
	r.report.Durable()
	r.backends.Durable()
	return true
}

func (r *run) storeFailed(err error) {
	if errors.Is(err, store.ErrLost) {
		r.halt(progress.LeaseLost, "another muster took the lease")
		r.err = err
		return
	}
	r.halt(progress.StoreFailed, "the state cannot be written: "+err.Error())
	r.err = &storeError{Err: err}
}

// halt stops starts for the rest of the run. It keeps the first reason.
func (r *run) halt(s progress.Stop, why string) {
	if r.halted == progress.None {
		r.halted, r.why = s, why
	}
}

// Unsynced reports whether events wait to be durable.
func (r *run) Unsynced() bool { return !r.unsynced.IsZero() }

// Note shows a line to the user.
func (r *run) Note(address, text string, bad bool) { r.report.Note(address, text, bad) }

// Stopped reports whether nothing new starts in this run.
func (r *run) Stopped() bool { return r.halted != progress.None }

// mute reports whether nothing may be sent any more: its intent would not be
// durable, or not ours to make.
func (r *run) mute() bool {
	return r.halted == progress.LeaseLost || r.halted == progress.StoreFailed
}
