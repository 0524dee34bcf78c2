package jobspec

import (
	"iter"
	"time"

	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/state"
)

// attemptsOf are the attempts of a job under one token; none of a job that is not
// known.
func attemptsOf(j *state.Job, token string) iter.Seq[*state.Attempt] {
	return func(yield func(*state.Attempt) bool) {
		if j == nil {
			return
		}
		for i := range j.Attempts {
			if a := &j.Attempts[i]; connection.Stem(a.Token) == token && !yield(a) {
				return
			}
		}
	}
}

// FirstLaunch is which launch of a job was the first under a token; 1 where
// none is known.
func FirstLaunch(j *state.Job, token string) int {
	n := 1
	attemptsOf(j, token)(func(a *state.Attempt) bool {
		n = a.N
		return false
	})
	return n
}

// Ran reports whether launch n under a token is recorded to have run.
func Ran(j *state.Job, token string, n int) bool {
	for a := range attemptsOf(j, token) {
		if a.N == n {
			return !a.Started.IsZero()
		}
	}
	return false
}

// Waited is how long launch n was queued before it ran, at started where that
// was seen; -1 where it is not known. A launch after another of the same token
// is queued since that one ended.
func Waited(j *state.Job, token string, started time.Time, n int) time.Duration {
	var since, until time.Time
	for a := range attemptsOf(j, token) {
		switch a.N {
		case n - 1:
			since = a.Ended
		case n:
			if a.Queued.After(since) {
				since = a.Queued
			}
			until = a.Started
		}
	}
	if !started.IsZero() {
		until = started
	}
	if since.IsZero() || until.IsZero() {
		return -1
	}
	return max(until.Sub(since), 0)
}
