package queue

import (
	"time"

	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/offer"
)

// dependencies decide which jobs wait for others, which are ready, and which never will be.
type dependencies struct {
	*core
	attempts *attempts
}

// link makes a job wait for those it comes after.
func (ds *dependencies) link(j *job) {
	j.needs, j.orphaned = 0, false
	for _, t := range j.spec.After {
		up, status := ds.jobs[t], ds.tombstones[t].Status
		if up != nil {
			status = up.Status
		}
		switch {
		case status == offer.Completed:
		case up != nil && !up.over():
			up.feeds = append(up.feeds, j)
			j.needs++
		default:
			j.orphaned = true
		}
	}
}

// followers releases the jobs that come after one that has ended.
func (ds *dependencies) followers(j *job) {
	feeds := j.feeds
	j.feeds = nil
	for _, next := range feeds {
		if j.Status == offer.Completed {
			next.needs--
		} else {
			next.orphaned = true
		}
		if next.needs == 0 || next.orphaned {
			ds.release(next)
		}
	}
}

// release queues a job that lacks nothing but a slot, and ends one that comes after a job that
// ended without success: what muster starts in the place of that one has another token.
func (ds *dependencies) release(j *job) {
	if j.orphaned && j.taken && j.Status == offer.Queued && j.Launch == nil {
		ds.attempts.endUnstarted(j, offer.Blocked)
		return
	}
	if j.Status == offer.Waiting && !ds.delayed(j) {
		j.Status = offer.Queued
	}
	if j.Status == offer.Queued && j.Launch == nil && j.needs == 0 && j.taken && !j.Held && j.queue == nil {
		j.place.enqueue(j)
	}
}

// delayed reports whether a job must still wait for its next attempt, and sets a timer for
// that.
func (ds *dependencies) delayed(j *job) bool {
	left := j.Left(j.spec.Retry.Delay, monotonic.Now())
	if left == 0 {
		return false
	}
	j.timers = append(j.timers, time.AfterFunc(left, func() {
		ds.ops <- func() {
			j.Due = monotonic.Due{}
			ds.release(j)
		}
	}))
	return true
}
