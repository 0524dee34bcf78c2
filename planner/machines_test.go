package planner

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/state"
)

// TestMachinesThatFail: a plan long enough to lose a launch with its machine
// says so, and which jobs would stay failed; a short one does not.
func TestMachinesThatFail(t *testing.T) {
	t.Parallel()
	note := func(p *Plan) string {
		for _, n := range p.Notes {
			if strings.HasPrefix(n, "Assumed: no machine fails") {
				return n
			}
		}
		return ""
	}
	seeds := make([]int, 5000)
	for i := range seeds {
		seeds[i] = i
	}
	spec := phaseSpec{name: "a", seeds: seeds, lr: "1"}
	c := load(t, nil, spec)
	p, _ := Make(input(c, &state.State{}))
	got := note(p)
	if !strings.Contains(got, "phase.a") || !strings.Contains(got, "154 days") {
		t.Errorf("%q", got)
	}
	spec.seeds = seeds[:3]
	few, _ := Make(input(load(t, nil, spec), &state.State{}))
	if got := note(few); got != "" {
		t.Errorf("three jobs: %q", got)
	}
	if p, want := history.LostWithMachines(4, 24*time.Hour), 4*6.5/1000; p > want || p < 0.98*want {
		t.Errorf("a day on four machines: %.4f, about %.4f", p, want)
	}
}
