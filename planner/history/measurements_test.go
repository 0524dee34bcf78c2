package history

import (
	"math"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/state"
)

var began = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

var single = &lang.Phase{Name: "a", Grid: grid.Single()}

// took is the record of a job that completed on a pool after so many minutes.
func took(pool string, minutes int) *state.Job {
	return &state.Job{Status: state.Completed, Attempts: []state.Attempt{{
		Backend: "slurm.x", Pool: pool, Started: began, Ended: began.Add(time.Duration(minutes) * time.Minute),
	}}}
}

// TestHowFarAModelIsOff: a share of it as long as that is one, and a factor beyond.
func TestHowFarAModelIsOff(t *testing.T) {
	for factor, want := range map[float64]string{
		1: "±0 %", 1.25: "±25 %", 1.99: "±99 %",
		7.57: "a factor of 7.6 to either side, which its p90 counts up to the walltime: one run there, as a pilot, would tell more",
		5e8:  "a factor of more than 100, so that nothing but the walltime bounds it: one run there, as a pilot, would tell more",
	} {
		if got := off(math.Log(factor)); got != want {
			t.Errorf("%v: %q, not %q", factor, got, want)
		}
	}
}

// TestPace: a pool on which enough jobs ran is as fast as they were there; of
// the others nothing is said.
func TestPace(t *testing.T) {
	records := []*state.Job{nil, took("slow", 40), took("slow", 40), took("slow", 40), took("fast", 10), took("fast", 10)}
	ev := PastOf(single, append(records, took("", 10), took("", 10)), nil).Measurements(nil)
	for pool, want := range map[string]float64{"slow": 4, "fast": 1, "other": 1} {
		if got := ev.Pace("slurm.x", pool); got != want {
			t.Errorf("%s: %v, not %v", pool, got, want)
		}
	}
}

// TestNothingMeasured: without a completed job the walltime is all there is,
// and failures do not count as runs.
func TestNothingMeasured(t *testing.T) {
	failed := took("", 5)
	failed.Status, failed.Attempts[0].Class = state.Failed, "oom"
	ev := PastOf(single, []*state.Job{failed, failed, failed}, nil).Measurements(nil)
	if got := ev.Runtime(time.Hour); ev.Enough() || got.Mark != forecast.Declared(time.Hour).Mark || got.Expected != forecast.Declared(time.Hour).Expected {
		t.Errorf("%+v", got)
	}
	if ev.Failing != 1 {
		t.Errorf("%v of the launches failed, not all", ev.Failing)
	}
}

func TestWithin(t *testing.T) {
	for address, want := range map[string]bool{
		"phase.a": true, `phase.a["x=1"]`: true, `smoke.phase.a["x=1"]`: true, "phase.ab": false, `phase.b["phase.a"]`: false, "a": false,
	} {
		if within(address, "a") != want {
			t.Errorf("%s", address)
		}
	}
}

// TestAgain: what passes at least between two launches of a job is told from what
// passed, once it has often enough.
func TestAgain(t *testing.T) {
	at := func(minutes float64) time.Time { return began.Add(time.Duration(minutes * float64(time.Minute))) }
	twice := func(gap float64) *state.Job {
		return &state.Job{Status: state.Completed, Attempts: []state.Attempt{
			{Started: at(0), Ended: at(5), Class: "preempted"}, {Started: at(5 + gap), Ended: at(10 + gap)}}}
	}
	for _, c := range []struct {
		records []*state.Job
		want    time.Duration
	}{
		{[]*state.Job{twice(2), twice(3)}, 0},
		{[]*state.Job{twice(2), twice(3), took("", 9), twice(8)}, 2 * time.Minute},
		{[]*state.Job{twice(-1), twice(-1), twice(-1)}, 0}, // by clocks that differ
	} {
		if got := PastOf(single, c.records, nil).Measurements(nil).Again; got != c.want {
			t.Errorf("%v, not %v", got, c.want)
		}
	}
}

// TestSampledCellsAreOthers: no cell counts twice, however few more there are
// than are looked at.
func TestSampledCellsAreOthers(t *testing.T) {
	t.Parallel()
	for _, n := range []int{10, mostPoints, mostPoints + 1, mostPoints + 500, 3 * mostPoints, 100_000} {
		cells := make([]int, n)
		for i := range cells {
			cells[i] = i
		}
		seen := map[int]bool{}
		for _, c := range sampled(cells) {
			seen[c] = true
		}
		if len(seen) != min(n, mostPoints) {
			t.Errorf("of %d cells %d are looked at", n, len(seen))
		}
	}
}
