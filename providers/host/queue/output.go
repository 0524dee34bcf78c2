package queue

import (
	"context"
	"time"

	"github.com/muster-run/muster/providers/host/attempt"
)

// watchOutput follows what a job prints, where its watch block asks for that,
// until the job has ended. What ends a job in it is decided again from the whole
// log when the job has ended, so that nothing hangs on how fast it was seen.
func (q *queue) watchOutput(j *job) {
	if j.spec.Watch.None() {
		return
	}
	if j.unwatch != nil {
		j.unwatch()
	}
	ctx, stop := context.WithCancel(context.Background())
	j.unwatch = stop
	restart, group := j.Restart, q.newCheck(j).Group
	w := attempt.NewWatcher(&j.spec, j.attempt(), time.Now())
	go func() {
		tick := time.NewTicker(attempt.LookEvery)
		defer tick.Stop()
		told := ""
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				forbidden := w.Look(now)
				stalled := w.Stalled(now, func() []int { return group().Members() })
				if forbidden == "" && (stalled == "") == (told == "") {
					continue
				}
				told = stalled
				select {
				case q.ops <- func() {
					if j.Restart == restart && q.live[j] {
						q.watched(j, forbidden, stalled)
					}
				}:
				case <-ctx.Done():
					return
				}
				if forbidden != "" {
					return
				}
			}
		}
	}()
}

// watched takes in what a watch block says of a running job.
func (q *queue) watched(j *job, forbidden, stalled string) {
	switch {
	case forbidden != "":
		q.terminate(j, j.spec.Grace)
		return
	case stalled != "" && j.spec.Watch.End:
		j.Launch.Stalled = stalled
		q.step(j, false)
		q.terminate(j, j.spec.Grace)
		return
	}
	j.silent = stalled
	obs := q.observe(j)
	j.Obs = &obs
	q.step(j, true)
}
