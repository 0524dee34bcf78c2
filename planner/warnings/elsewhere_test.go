package warnings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
)

// TestFallbacksAreToldByTheNextPlan: what went elsewhere is recorded with its
// attempt, and the next plan says so, like jobs together.
func TestFallbacksAreToldByTheNextPlan(t *testing.T) {
	t.Parallel()
	d := place.Decision{Backend: "local.local", Why: "place prefers order", Fallback: "ssh.lab cannot be asked (no route): local.local instead"}
	if d.Reason() != "fallback: ssh.lab cannot be asked (no route): local.local instead" {
		t.Errorf("recorded as %q", d.Reason())
	}
	d.Why = "re-placed: slurm.x refused it"
	if d.Reason() != d.Why {
		t.Errorf("recorded as %q", d.Reason())
	}
	var records []*state.Job
	for i, why := range []string{"fallback: ssh.lab cannot be asked", "fallback: ssh.lab cannot be asked", "re-placed: ssh.lab x refused it", "CPU work goes to the cheapest place"} {
		address := fmt.Sprintf(`phase.a["seed=%d"]`, i)
		records = append(records, &state.Job{Address: address, Phase: "a", Status: state.Completed, Attempts: []state.Attempt{{N: 1, Token: fmt.Sprint(i), Backend: "local.local", Why: why}}})
	}
	records = append(records, nil)
	notes := strings.Join(Elsewhere([]history.PhaseRecords{{Phase: &lang.Phase{Name: "a"}, Records: records}}), "\n")
	for _, want := range []string{"phase.a: 2 jobs went to local.local, not to the first choice: ssh.lab cannot be asked.", "phase.a: 1 job went to local.local, not to the first choice: ssh.lab x refused it."} {
		if strings.Count(notes, want) != 1 {
			t.Errorf("%q is not said once in\n%s", want, notes)
		}
	}
	if strings.Contains(notes, "cheapest place") {
		t.Errorf("what went where it was to go is told:\n%s", notes)
	}
}
