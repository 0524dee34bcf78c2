package live

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner/apply/progress"
)

func TestPace(t *testing.T) {
	start := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name    string
		p       progress.Phase
		elapsed time.Duration
		final   bool
		want    string
	}{
		{"nothing done yet", progress.Phase{Total: 10, Running: 2}, time.Hour, false, ""},
		{"one says no rate", progress.Phase{Total: 10, Done: 1, Running: 2}, time.Hour, false, ""},
		{"what was done before is not counted", progress.Phase{Total: 10, Done: 6, Before: 5, Running: 1}, time.Minute, false, ""},
		{"several a second", progress.Phase{Total: 30, Done: 10, Running: 1}, 5 * time.Second, false, "2/s, 10s left"},
		{"less than one a second", progress.Phase{Total: 30, Done: 10, Running: 1}, 5 * time.Minute, false, "2/min, 10m left"},
		{"less than one a minute", progress.Phase{Total: 4, Done: 2, Running: 1}, 5 * time.Hour, false, "0.4/h, 5h left"},
		{"only failed ones are left", progress.Phase{Total: 4, Done: 2, Failed: 1, Blocked: 1}, time.Minute, false, ""},
		{"failed ones are not waited for", progress.Phase{Total: 4, Done: 2, Failed: 1, Running: 1}, time.Minute, false, "2/min, 30s left"},
		{"nobody knows how long what cannot be asked will take", progress.Phase{Total: 5, Done: 2, Unknown: 2, Running: 1}, time.Minute, false, "2/min, 30s left"},
		{"a retry that waits", progress.Phase{Total: 4, Done: 2, Waiting: 2, RetryAt: start.Add(3 * time.Minute)}, time.Minute, false, "2/min, 3m left"},
		{"a retry that may start", progress.Phase{Total: 4, Done: 2, Waiting: 2, RetryAt: start}, time.Minute, false, "2/min, 1m left"},
		{"the end", progress.Phase{Total: 4, Done: 2, Running: 2}, time.Minute, true, ""},
		{"done", progress.Phase{Total: 4, Done: 4}, 90 * time.Second, true, "in 1m 30s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.p.Phase = "p"
			m := paces{}
			m.see(progress.Snapshot{At: start, Phases: []progress.Phase{{Phase: "p", Total: test.p.Total, Queued: 1}}})
			at := progress.Snapshot{At: start.Add(test.elapsed), Final: test.final, Phases: []progress.Phase{test.p}}
			if got := m["p"].text(test.p, at); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A phase that is done is announced once: how long it took does not grow.
func TestDoneIsToldOnce(t *testing.T) {
	var b strings.Builder
	l := &lines{w: &b, style: term.Style{Width: 100}, said: map[string]string{}, paces: paces{}}
	start := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	done, open := progress.Phase{Phase: "a", Total: 2, Done: 2}, progress.Phase{Phase: "b", Total: 9, Running: 1}
	for minute := range 10 {
		a := done
		if minute == 0 {
			a = progress.Phase{Phase: "a", Total: 2, Running: 2}
		}
		l.Show(progress.Snapshot{At: start.Add(time.Duration(minute) * 6 * time.Minute), Phases: []progress.Phase{a, open}})
	}
	if n := strings.Count(b.String(), "2 of 2 done"); n != 1 || !strings.Contains(b.String(), "in 6m") {
		t.Errorf("told %d times:\n%s", n, b.String())
	}
}
