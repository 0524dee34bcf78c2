package history

import (
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/state"
)

var jobBegan = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func ranFor(d time.Duration) *state.Job {
	return &state.Job{Status: state.Completed, Attempts: []state.Attempt{{Started: jobBegan, Ended: jobBegan.Add(d)}}}
}

func TestMarks(t *testing.T) {
	// Requirement: CB-08, CB-11
	t.Parallel()
	fiveMinutes := []*state.Job{ranFor(5 * time.Minute), ranFor(5 * time.Minute), ranFor(5 * time.Minute)}
	seconds := []*state.Job{ranFor(5 * time.Second), ranFor(5 * time.Second), ranFor(5 * time.Second)}
	running := &state.Job{Status: state.Running, Attempts: []state.Attempt{{Started: jobBegan}}}
	for _, c := range []struct {
		name   string
		others []*state.Job
		ran    time.Duration
		want   Mark
	}{
		{"twice the expected", fiveMinutes, 10 * time.Minute, ""},
		{"more than twice", fiveMinutes, 10*time.Minute + 1, Late},
		{"three times", fiveMinutes, 15 * time.Minute, Late},
		{"more than three times", fiveMinutes, 15*time.Minute + 1, Overdue},
		{"a clock that was set back", fiveMinutes, -time.Hour, ""},
		{"less than a minute expected", seconds, time.Hour, ""},
		{"two others", fiveMinutes[:2], time.Hour, ""},
		{"nothing measured", nil, 100 * time.Hour, ""},
	} {
		records := append([]*state.Job{running, nil}, c.others...)
		got, _ := PaceOf(&lang.Phase{Name: "a", Grid: &grid.Grid{}}, records, nil, nil).Running(0, jobBegan, running, jobBegan.Add(c.ran))
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		name   string
		others []*state.Job
		took   time.Duration
		want   Mark
	}{
		{"a tenth", fiveMinutes, 30 * time.Second, ""},
		{"less than a tenth", fiveMinutes, 29 * time.Second, Suspect},
		{"two others", fiveMinutes[:2], time.Second, ""},
		{"less than a minute expected", seconds, time.Millisecond, ""},
	} {
		records := append([]*state.Job{ranFor(c.took)}, c.others...)
		if got, _, _ := PaceOf(&lang.Phase{Name: "a", Grid: &grid.Grid{}}, records, nil, nil).Completed(0); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
