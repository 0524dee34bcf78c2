package planner

import (
	"testing"
	"time"

	"github.com/muster-run/muster/state"
)

// TestPastIsCounted: what it took before to hand the first job over, and to put
// the next job where one had ended, is in the walltime.
func TestPastIsCounted(t *testing.T) {
	t.Parallel()
	c := load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2, 3, 4, 5, 6}, lr: "1", wall: "1h"})
	c.MaxParallel = 1
	first := planned(t, input(c, nil))
	at := func(seconds float64) time.Time {
		return now.Add(-8*time.Hour + time.Duration(seconds*float64(time.Second)))
	}
	for name, tt := range map[string]struct {
		queued float64    // seconds from the yes, of all
		starts [4]float64 // of 10 s each
		want   time.Duration
	}{
		"at once":                 {0, [4]float64{0, 10, 20, 30}, 20 * time.Second},
		"handed over slowly":      {3, [4]float64{3, 13, 23, 33}, 23 * time.Second},
		"a second between jobs":   {0, [4]float64{0, 11, 22, 33}, 22 * time.Second},
		"both":                    {3, [4]float64{4, 15, 26, 37}, 25 * time.Second},
		"waited for a person":     {7200, [4]float64{7200, 7210, 7220, 7230}, 80 * time.Second},
		"an idle place, and late": {0, [4]float64{2, 2, 2, 2}, 24 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := state.New("lineage")
			st.Jobs = map[string]*state.Job{}
			st.Approvals = []state.Approval{{Plan: "p", Begun: at(0), Finished: at(9000), Outcome: "done"}}
			for cell, start := range tt.starts {
				job := record(first.Phases[0], cell, state.Completed)
				a := &job.Attempts[0]
				a.Pool, a.Queued, a.Started, a.Ended, a.Usage = first.Phases[0].Decision(cell).Pool, at(tt.queued), at(start), at(start+10), nil
				st.Jobs[job.Address] = job
			}
			if got := planned(t, input(c, st)).Forecast.Walltime.P50; got.Round(time.Millisecond) != tt.want {
				t.Errorf("two jobs one by one are expected to take %v, not %v", got, tt.want)
			}
		})
	}
}
