package rehearse_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/planner/apply/rehearse"
)

// TestSourceIsTakenAsCopied: jobs that read a source are played to their end.
func TestSourceIsTakenAsCopied(t *testing.T) {
	t.Parallel()
	y := newYard(t, "source { include = [\"*.sh\"] }\n"+campaign("slots = 2", "", phase("a", 3, "")+phase("b", 3, "input \"i\" { from = phase.a.output.o }")))
	if err := os.WriteFile(filepath.Join(y.dir, "run.sh"), []byte("true\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	runs := y.rehearsed(t, nil)
	if ends := rehearse.Endings(runs); len(ends) > 0 || runs[0].Done != 6 {
		t.Errorf("%+v, %+v", ends, runs[0])
	}
}

// TestEndingsSayWhatIsHeld: a rehearsal that leaves jobs names their phase and why.
func TestEndingsSayWhatIsHeld(t *testing.T) {
	t.Parallel()
	y := newYard(t, campaign("slots = 2", "", phase("a", 1, "")+phase("b", 1, "input \"i\" { from = phase.a.output.o }")))
	why := ""
	for _, e := range rehearse.Endings(y.rehearsed(t, map[string]float64{"nan": 1})) {
		why += e.Why + "\n"
	}
	if !strings.Contains(why, "phase.a: jobs failed (nan)") || !strings.Contains(why, "phase.b: jobs wait for phase.a") {
		t.Errorf("%q", why)
	}
}

// rehearsed plays the plan of a yard three times.
func (y *yard) rehearsed(t *testing.T, fails map[string]float64) []rehearse.Result {
	t.Helper()
	c, p, in := y.plan()
	stage, err := rehearse.New(rehearse.Input{Campaign: c, State: y.state, Plan: p, Pools: in.Pools, Can: in.Can, Seed: 1, Fails: fails})
	if err != nil {
		t.Fatal(err)
	}
	var runs []rehearse.Result
	for i := range 3 {
		r, err := stage.Play(context.Background(), i)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	return runs
}
