package history

import (
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// Times are where the time of one job went, from its submission to its end: the
// three parts of the wall-clock time that an optimisation can shorten.
type Times struct {
	Queue time.Duration // before its first start, and between the segments of its work
	Retry time.Duration // from the start of launches that came to nothing to the next start: they, delays, and waits
	Run   time.Duration // of its last launch, and of those whose work was gone on with
}

// Total is the time from the submission to the end.
func (t Times) Total() time.Duration { return t.Queue + t.Retry + t.Run }

// TimesOf splits the time of a phase's job whose last launch has ended; false for
// one that has not, or of which it is not known when it started.
func TimesOf(p *lang.Phase, job *state.Job) (Times, bool) {
	last := job.Last()
	if last == nil || last.Ended.IsZero() {
		return Times{}, false
	}
	t := Times{Run: Worked(p, job)}
	if Elapsed(last) <= 0 {
		return Times{}, false
	}
	first := &job.Attempts[0]
	if !first.Queued.IsZero() {
		t.Queue = max(0, startOf(job, 0).Sub(first.Queued))
	}
	from := -1 // the launch before that started
	for k := range job.Attempts {
		if startOf(job, k).IsZero() {
			continue
		}
		if from >= 0 {
			ran, until := Elapsed(&job.Attempts[from]), max(0, startOf(job, k).Sub(startOf(job, from)))
			if GoesOn(p, job, from) {
				t.Queue += max(0, until-ran)
			} else {
				t.Retry += until
			}
		}
		from = k
	}
	return t, true
}

// skew is how much earlier than its submission a launch may start by the clock of
// another machine.
const skew = time.Minute

// startOf is when a launch of a job that ended started. A launch before the last may
// have the time of a clock that was set since: where that is outside the life of the
// job, the launch counts from its submission.
func startOf(job *state.Job, k int) time.Time {
	at, first, last := &job.Attempts[k], &job.Attempts[0], job.Last()
	if at == last || at.Started.IsZero() {
		return at.Started
	}
	until := last.Started
	if until.IsZero() {
		until = last.Ended
	}
	if at.Started.After(until) || !first.Queued.IsZero() && at.Started.Before(first.Queued.Add(-skew)) {
		return at.Queued
	}
	return at.Started
}

// Waited is how long an attempt stood in its backend's queue, 0 where that is
// not known: a retry by a host's own queue was never submitted again.
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
