package planner

import (
	"testing"
	"time"

	"github.com/muster-run/muster/state"
)

// TestWhatWaitsInAQueueHasNotStarted: a plan that is made while jobs wait with
// their backend ends when they do, and not as if all of them ran at once.
func TestWhatWaitsInAQueueHasNotStarted(t *testing.T) {
	t.Parallel()
	seeds := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	c := load(t, nil, phaseSpec{name: "a", seeds: seeds, lr: "1", wall: "2h"}, phaseSpec{name: "b", lr: "1", wall: "2h", input: "a", all: true})
	fresh := planned(t, input(c, nil)).Forecast.Walltime
	if fresh.P50 < 5*time.Hour {
		t.Fatalf("16 jobs of an hour and one after them on 4 cores end after %s", fresh.P50)
	}
	queued := input(c, applied(t, c, state.Queued))
	if got := planned(t, queued).Forecast.Walltime; got.P50 != fresh.P50 || got.P90 != fresh.P90 {
		t.Errorf("all handed over, none started: ends after %s and %s, not %s and %s", got.P50, got.P90, fresh.P50, fresh.P90)
	}

	some := applied(t, c, state.Queued)
	for _, n := range []string{"1", "2", "3", "4"} {
		job := some.Jobs[`phase.a["seed=`+n+`"]`]
		job.Status, job.Attempts[0].Started = state.Running, now.Add(-30*time.Minute)
	}
	in := input(c, some)
	in.Pools[0].Idle = 0
	if got := planned(t, in).Forecast.Walltime.P50; got != fresh.P50-30*time.Minute {
		t.Errorf("four that run for half an hour: ends after %s, not %s", got, fresh.P50-30*time.Minute)
	}

	for waited, want := range map[time.Duration]time.Duration{0: 5 * time.Hour, 3 * time.Hour: 2 * time.Hour, 9 * time.Hour: 0} {
		st := applied(t, c, state.Queued)
		for _, job := range st.Jobs {
			job.Attempts[0].Queued = now.Add(-waited)
		}
		in := input(c, st)
		in.Pools[0].Wait = 5 * time.Hour
		// The one job of b waits from when it was submitted, too: by the end of a it has.
		if got := planned(t, in).Forecast.Walltime.P50; got < fresh.P50+want || got > fresh.P50+2*want {
			t.Errorf("%s of 5h waited: ends after %s, not %s and what is left of the wait", waited, got, fresh.P50)
		}
	}
}
