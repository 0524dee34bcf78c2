package live

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner/apply/progress"
)

// TestSilence: while one long job runs and nothing changes, a log has a line at least
// every ten minutes, and no line of a phase that is done.
func TestSilence(t *testing.T) {
	// Requirement: WCH-08
	var b strings.Builder
	l := &lines{w: &b, style: term.Style{Width: 100}, said: map[string]string{}, paces: paces{}}
	start := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	last, lines := start, 0
	for minute := range 121 {
		at := start.Add(time.Duration(minute) * time.Minute)
		l.Show(progress.Snapshot{At: at, Phases: []progress.Phase{{Phase: "a", Total: 1, Done: 1}, {Phase: "b", Total: 1, Running: 1}, {Phase: "c", Total: 1}}})
		if n := strings.Count(b.String(), "phase.b"); n > lines {
			last, lines = at, n
		}
		if at.Sub(last) > 10*time.Minute {
			t.Fatalf("silent from %s to %s", last, at)
		}
	}
	if lines > 15 || strings.Count(b.String(), "phase.a") != 1 || strings.Contains(b.String(), "phase.c") {
		t.Errorf("in two hours:\n%s", b.String())
	}
}
