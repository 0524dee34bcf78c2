package queue

import (
	"context"
	"time"

	"github.com/muster-run/muster/providers/host/attempt"
)

// watchOutput follows a job's output, where its watch block asks for that, until the job has
// ended. The verdict is repeated on the whole log after the end, so that it does not depend on
// how soon the queue saw a line.
func (as *attempts) watchOutput(j *job) {
	if j.spec.Watch.None() {
		return
	}
	if j.unwatch != nil {
		j.unwatch()
	}
	ctx, stop := context.WithCancel(context.Background())
	j.unwatch = stop
	restart, group := j.Restart, as.starts.newCheck(j).group
	given := j.Launch.GPUs
	type use struct {
		percent []int
		soon    bool
	}
	gpus := func(within time.Duration) ([]int, bool) {
		var u use
		if len(given) > 0 {
			u, _ = ask(ctx, as.core, func() (u use) {
				u.percent, u.soon = as.allocator.devices.Utilization(given, within)
				return u
			})
		}
		return u.percent, u.soon
	}
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
				stalled := w.Stalled(now, func() []int { return group().Members() }, gpus)
				if forbidden == "" && (stalled == "") == (told == "") {
					continue
				}
				told = stalled
				select {
				case as.ops <- func() {
					if j.Restart == restart && as.live[j] {
						as.watched(j, forbidden, stalled)
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

// watched handles the verdict of a watch block on a running job.
func (as *attempts) watched(j *job, forbidden, stalled string) {
	switch {
	case forbidden != "":
		as.terminate(j, j.spec.Grace)
		return
	case stalled != "" && j.spec.Watch.End:
		j.Launch.Stalled = stalled
		as.step(j, false)
		as.terminate(j, j.spec.Grace)
		return
	}
	j.silent = stalled
	obs := as.observe(j)
	j.Obs = &obs
	as.step(j, true)
}
