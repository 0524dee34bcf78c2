package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/progress"
)

// TestRepeats: of notes in a row that say the same of jobs of one phase, three are shown and the
// rest are counted: until another note, for two seconds, or until the end. Other notes are all
// shown, in order.
func TestRepeats(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	s := ForPeople(&b, term.Style{Width: 200}, &planner.Plan{}, func(string) bool { return true })
	at := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	show := func(address, note string) { s.Show(progress.Snapshot{At: at, Address: address, Note: note}) }
	lost := func(phase string, from, to int) {
		for i := from; i < to; i++ {
			address := fmt.Sprintf("phase.%s[\"i=%d\"]", phase, i)
			show(address, address+" failed (node_failure): n3 does not answer; launch 2 of 3 follows")
		}
	}
	lost("a", 0, 36)
	lost("b", 0, 3)
	show(`phase.b["i=3"]`, "failed")
	show("phase.a", "smoke passed")
	show("phase.a", "smoke passed")
	lost("c", 0, 4)
	at = at.Add(countFor)
	show("", "")
	lost("c", 4, 6)
	s.Show(progress.Snapshot{At: at, Final: true, Phases: []progress.Phase{{Phase: "c", Total: 6, Done: 6}}})
	s.Close()
	line := func(phase string, i int) string {
		return fmt.Sprintf("phase.%s[\"i=%d\"] failed (node_failure): n3 does not answer; launch 2 of 3 follows", phase, i)
	}
	want := []string{
		line("a", 0), line("a", 1), line("a", 2), "phase.a: the same for 33 more jobs",
		line("b", 0), line("b", 1), line("b", 2), `phase.b["i=3"]: failed`,
		"phase.a: smoke passed", "phase.a: smoke passed",
		line("c", 0), line("c", 1), line("c", 2), "phase.c: the same for 1 more job", "phase.c: the same for 2 more jobs",
		"phase.c: 6 of 6 done",
	}
	if got := strings.Split(strings.TrimSpace(b.String()), "\n"); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("shown:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
