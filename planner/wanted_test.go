package planner_test

import (
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

func TestWhatAPlanDoesWithACell(t *testing.T) {
	t.Parallel()
	now, kept := result.Hash{1}, result.Hash{2}
	p := &planner.PhasePlan{Kind: []planner.Kind{planner.Run, planner.Accept}, Result: []result.Hash{{}, kept},
		Details: map[int]planner.Detail{0: {}, 1: {Computed: now}}}
	for cell, want := range []struct {
		kind             planner.Kind
		result, accepted string
	}{
		{planner.Run, "", ""}, // waits for what it reads
		{planner.Accept, kept.String(), now.String()},
		{planner.None, "", ""}, // beyond the plan
	} {
		c := int32(cell)
		if k, r, a := p.Does(c), p.ResultText(c), p.Accepted(c); k != want.kind || r != want.result || a != want.accepted {
			t.Errorf("cell %d: %v, result %q, accepted as %q", cell, k, r, a)
		}
	}
}

func TestRecordsIn(t *testing.T) {
	t.Parallel()
	c, diags := lang.LoadFiles(map[string][]byte{"c.muster.hcl": []byte(`campaign "c" {}
backend "local" "local" {}
phase "a" {
  grid { axes = { n = [1, 2] } }
  job { command = ["true"] }
}
`)}, lang.LoadOptions{Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	p := &planner.PhasePlan{Phase: c.Phases[0]}
	if got := p.RecordsIn(&state.State{}); got != nil {
		t.Errorf("of a state without jobs: %v", got)
	}
	job := &state.Job{}
	st := &state.State{Jobs: map[string]*state.Job{p.Phase.Address(1): job}}
	if got := p.RecordsIn(st); len(got) != 2 || got[0] != nil || got[1] != job {
		t.Errorf("from the state: %v", got)
	}
	p.Records = []*state.Job{job, nil}
	if got := p.RecordsIn(st); got[0] != job {
		t.Errorf("the plan's own are not taken: %v", got)
	}
}
