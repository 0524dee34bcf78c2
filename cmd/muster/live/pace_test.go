package live

import (
	"testing"
	"time"

	"github.com/muster-run/muster/planner/apply"
)

func TestPace(t *testing.T) {
	start := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name    string
		p       apply.PhaseProgress
		elapsed time.Duration
		final   bool
		want    string
	}{
		{"nothing done yet", apply.PhaseProgress{Total: 10, Running: 2}, time.Hour, false, ""},
		{"one says no rate", apply.PhaseProgress{Total: 10, Done: 1, Running: 2}, time.Hour, false, ""},
		{"what was done before is not counted", apply.PhaseProgress{Total: 10, Done: 6, Before: 5, Running: 1}, time.Minute, false, ""},
		{"several a second", apply.PhaseProgress{Total: 30, Done: 10, Running: 1}, 5 * time.Second, false, "2/s, 10s left"},
		{"less than one a second", apply.PhaseProgress{Total: 30, Done: 10, Running: 1}, 5 * time.Minute, false, "2/min, 10m left"},
		{"less than one a minute", apply.PhaseProgress{Total: 4, Done: 2, Running: 1}, 5 * time.Hour, false, "0.4/h, 5h left"},
		{"only failed ones are left", apply.PhaseProgress{Total: 4, Done: 2, Failed: 1, Blocked: 1}, time.Minute, false, ""},
		{"failed ones are not waited for", apply.PhaseProgress{Total: 4, Done: 2, Failed: 1, Running: 1}, time.Minute, false, "2/min, 30s left"},
		{"the end", apply.PhaseProgress{Total: 4, Done: 2, Running: 2}, time.Minute, true, ""},
		{"done", apply.PhaseProgress{Total: 4, Done: 4}, 90 * time.Second, true, "in 1m 30s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.p.Phase = "p"
			m := paces{}
			m.see(apply.Progress{At: start, Phases: []apply.PhaseProgress{{Phase: "p", Total: test.p.Total, Queued: 1}}})
			at := apply.Progress{At: start.Add(test.elapsed), Final: test.final, Phases: []apply.PhaseProgress{test.p}}
			if got := m["p"].text(test.p, at); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
