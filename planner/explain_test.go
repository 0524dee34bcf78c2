package planner

import (
	"testing"

	"github.com/muster-run/muster/state"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	c := load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2}, lr: "1", smoke: true}, phaseSpec{name: "b", seeds: []int{1, 2}, lr: "1", input: "a"})
	st := applied(t, c, state.Completed)
	delete(st.Jobs, `phase.a["seed=2"]`)
	delete(st.Jobs, `phase.b["seed=2"]`)
	in := input(c, st)
	p := plan(t, in)
	x, err := Explain(p, in, "b", 1)
	if err != nil {
		t.Fatal(err)
	}
	if x.Kind != Run || !x.Goes || len(x.Waits) != 1 || x.Waits[0].Open != 1 || x.Waits[0].Address != `phase.a["seed=2"]` || len(x.Decision.Candidates) == 0 {
		t.Errorf("got %+v", x)
	}
	if x, _ = Explain(p, in, "a", 1); x.Smoke == "" || len(x.Unlocks) != 1 {
		t.Errorf("got %+v", x)
	}
	if x, _ = Explain(p, in, "a", 0); x.Kind != None || x.Goes || x.Decision.Backend == "" {
		t.Errorf("a finished job says where it would go: %+v", x)
	}
	if _, err := Explain(p, in, "a", 9); err == nil {
		t.Error("a job that is not there")
	}
}
