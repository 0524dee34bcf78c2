package apply

import (
	"testing"
	"time"

	"github.com/muster-run/muster/state"
)

func TestDisagree(t *testing.T) {
	t.Parallel()
	run := func(s float64, loss string) state.SmokeRun {
		return state.SmokeRun{Elapsed: s, Metrics: map[string]string{"loss": loss}}
	}
	for _, c := range []struct {
		name string
		runs []state.SmokeRun
		want string
	}{
		{"one run", []state.SmokeRun{run(10, "1")}, ""},
		{"at the tolerance", []state.SmokeRun{run(100, "1"), run(95, "0.95")}, ""},
		{"beyond it", []state.SmokeRun{run(100, "1"), run(94, "1")}, "its repeats took 1m 40s and 1m 34s, and may differ by 5 %"},
		{"less than a second", []state.SmokeRun{run(0.1, "1"), run(1, "1")}, ""},
		{"a metric", []state.SmokeRun{run(1, "1.0"), run(1, "2.0")}, "metric.loss was 1.0 in one repeat and 2.0 in another, and may differ by 5 %"},
		{"text", []state.SmokeRun{run(1, `"a"`), run(1, `"b"`)}, `metric.loss was "a" in one repeat and "b" in another`},
		{"a metric that is gone", []state.SmokeRun{run(1, "1"), {Elapsed: 1}}, "metric.loss was 1 in one repeat and nothing in another"},
		{"the third", []state.SmokeRun{run(100, "1"), run(100, "1"), run(50, "1")}, "its repeats took 1m 40s and 50s, and may differ by 5 %"},
	} {
		if got := smokesDisagree(c.runs, 0.05); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestTooSlow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		took, expected time.Duration
		least          float64
		slow           bool
	}{
		{20 * time.Second, 10 * time.Second, 0.5, false},
		{21 * time.Second, 10 * time.Second, 0.5, true},
		{time.Hour, 0, 0.5, false},
		{time.Hour, time.Second, 0, false},
	} {
		if got := smokeTooSlow(c.took, c.expected, c.least); (got != "") != c.slow {
			t.Errorf("%v of %v at %v: %q", c.took, c.expected, c.least, got)
		}
	}
}
