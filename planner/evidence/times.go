package evidence

import (
	"time"

	"github.com/muster-run/muster/state"
)

// Times are where the time of one job went, from its hand-over to its end: the
// three parts of the wall-clock time that an optimisation can shorten.
type Times struct {
	Queue time.Duration // before its first start
	Retry time.Duration // from its first start to its last: failed launches, delays, and their waits
	Run   time.Duration // of its last launch
}

// Total is the time from the hand-over to the end.
func (t Times) Total() time.Duration { return t.Queue + t.Retry + t.Run }

// TimesOf splits the time of a job whose last launch has ended; false for one
// that has not, or of which it is not known when it started.
func TimesOf(job *state.Job) (Times, bool) {
	last := job.Last()
	if last == nil || last.Ended.IsZero() {
		return Times{}, false
	}
	first := &job.Attempts[0]
	t := Times{Run: Elapsed(last), Queue: Waited(first)}
	if t.Run <= 0 {
		return Times{}, false
	}
	if len(job.Attempts) > 1 && !first.Started.IsZero() && !last.Started.IsZero() {
		t.Retry = max(0, last.Started.Sub(first.Started))
	}
	return t, true
}

// Waited is how long an attempt stood in its backend's queue, 0 where that is
// not known: a retry by a host's own queue was never handed over anew.
func Waited(at *state.Attempt) time.Duration {
	if at.Queued.IsZero() || at.Started.IsZero() {
		return 0
	}
	return max(0, at.Started.Sub(at.Queued))
}

// Elapsed is how long an attempt ran, as its backend measured it, else by its
// times; 0 where neither is known.
func Elapsed(at *state.Attempt) time.Duration {
	if at.Usage != nil && at.Usage.Elapsed > 0 {
		return time.Duration(at.Usage.Elapsed * float64(time.Second))
	}
	if at.Started.IsZero() || at.Ended.IsZero() {
		return 0
	}
	return at.Ended.Sub(at.Started)
}
