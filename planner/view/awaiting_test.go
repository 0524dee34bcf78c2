package view

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/place"
)

// TestAwaiting: a job whose place cannot be asked is held, and nobody has to let
// it go.
func TestAwaiting(t *testing.T) {
	t.Parallel()
	plan := func(kinds ...planner.Kind) *planner.Plan {
		pp := &planner.PhasePlan{Phase: &lang.Phase{Name: "a"}, Kind: kinds, Place: make([]uint16, len(kinds)), Placements: []place.Decision{{}, {Away: "sim.x cannot be asked"}}}
		pp.Place[0] = 1
		p := &planner.Plan{Phases: []*planner.PhasePlan{pp}}
		for _, k := range kinds {
			if k == planner.HeldKind {
				p.Counts.Held++
			}
		}
		return p
	}
	for want, p := range map[string]*planner.Plan{
		"":                   plan(planner.HeldKind),
		"1 job is held: `":   plan(planner.HeldKind, planner.HeldKind),
		"2 jobs are held: `": plan(planner.None, planner.HeldKind, planner.HeldKind),
	} {
		if got := (Human{}).risks(p); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
