package queue

import (
	"time"

	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/offer"
)

// dependencies decide which jobs wait for others, and which are ready.
type dependencies struct{ *core }

// link makes a job wait for those it comes after.
func (ds *dependencies) link(j *job) {
	j.needs = 0
	for _, t := range j.spec.After {
		if up := ds.jobs[t]; up != nil && up.Status != offer.Completed {
			up.feeds = append(up.feeds, j)
			j.needs++
		} else if up == nil && ds.tombstones[t].Status != offer.Completed {
			j.needs++ // ended otherwise: it never comes
		}
	}
}

// release queues a job that lacks nothing but a slot.
func (ds *dependencies) release(j *job) {
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
