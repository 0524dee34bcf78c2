package page

import (
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/term"
)

// TestPhaseTableInNarrowTerminals: what a phase's jobs are doing stays in its
// column.
func TestPhaseTableInNarrowTerminals(t *testing.T) {
	phases := []PhaseStatus{
		{Phase: "prep", Jobs: 40, Counts: map[string]int{"completed": 40}},
		{Phase: "train", Jobs: 320, Counts: map[string]int{"completed": 133, "running": 2, "queued": 3, "submitting": 1, "pending": 162, "failed": 16, "held": 3}},
	}
	const want = `  phase.prep     40 of 40  done
  phase.train  133 of 320  done  2 running, 3 queued, 1 submitting, 162 pending,
                                 16 failed, 3 held
`
	if got := phaseTable(phases, 80); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, line := range strings.Split(phaseTable(phases, 60), "\n") {
		if term.Width(line) > 60 {
			t.Errorf("wider than 60 columns: %s", line)
		}
	}
}

// TestCSVColumnsDiffer: an axis, a metric and a column of muster's own may
// have one name.
func TestCSVColumnsDiffer(t *testing.T) {
	got := csvColumns([]string{"T", "phase", "status"}, []string{"T", "loss", "seconds"})
	for _, want := range []string{"T", "axis.phase", "axis.status", "metric.T", "loss", "metric.seconds"} {
		if !slices.Contains(got, want) {
			t.Errorf("no column %s in %v", want, got)
		}
	}
	slices.Sort(got)
	if n := len(got); n != len(slices.Compact(got)) {
		t.Errorf("a name stands twice in %v", got)
	}
}
