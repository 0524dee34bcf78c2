package main

import (
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/planner"
)

// TestApprovalQuestion: the question counts finished jobs that run again and submitted ones
// that end, each only where there are some.
func TestApprovalQuestion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kinds []planner.Kind
		want  string
	}{
		{nil, `Do this? Only "yes" is accepted: `},
		{[]planner.Kind{planner.Run}, `Do this? Only "yes" is accepted: `},
		{[]planner.Kind{planner.Cancel, planner.Restart}, `Do this? It cancels 2 submitted jobs. Only "yes" is accepted: `},
		{[]planner.Kind{planner.Rerun}, `Do this? It re-runs 1 finished job. Only "yes" is accepted: `},
		{[]planner.Kind{planner.Rerun, planner.Cancel}, `Do this? It re-runs 1 finished job. It cancels 1 submitted job. Only "yes" is accepted: `},
	} {
		p := &planner.Plan{}
		for _, k := range c.kinds {
			p.Phases = append(p.Phases, &planner.PhasePlan{Phase: &lang.Phase{Name: "a", Grid: grid.Single()}, Kind: []planner.Kind{k}})
		}
		if got := approvalQuestion(p); got != c.want {
			t.Errorf("%v: %q, want %q", c.kinds, got, c.want)
		}
	}
}
