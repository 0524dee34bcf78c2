package live

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/progress"
)

// A destroy tells what it ends and what goes wrong, and no progress towards
// anything being done.
func TestADestroyShowsNoProgress(t *testing.T) {
	t.Parallel()
	for _, tty := range []bool{false, true} {
		var b strings.Builder
		p := &planner.Plan{Destroy: true}
		p.Counts.Cancel = 3
		s := ForPeople(&b, term.Style{TTY: tty, UTF8: true, Width: 100}, p, func(string) bool { return true })
		s.Show(progress.Snapshot{Phases: []progress.Phase{{Phase: "a", Total: 3, Running: 3}}})
		s.Show(progress.Snapshot{Note: "m1 was not released", Address: "backend.x"})
		s.Show(progress.Snapshot{Phases: []progress.Phase{{Phase: "a", Total: 3, Cancelled: 3}}, Final: true})
		s.Close()
		if want := "cancelling 3 jobs\nbackend.x: m1 was not released\n"; b.String() != want {
			t.Errorf("on a terminal %t:\n%s", tty, b.String())
		}
	}
}
