package site_test

import (
	"slices"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A job that never ran is at its first candidate, and one that ran is where it ran; relative
// paths are in the workdir there.
func TestLast(t *testing.T) {
	t.Parallel()
	c, diags := lang.LoadFiles(map[string][]byte{"c.muster.hcl": []byte(`campaign "c" {}
backend "local" "here" { workdir = "/here" }
backend "local" "there" { workdir = "/there" }
phase "a" {
  grid { axes = { n = [1, 2] } }
  job {
    command = ["true"]
    output "o" { path = "out/${cell.n}" }
  }
  place { candidates = [backend.local.here, backend.local.there] }
}
phase "b" {
  grid { axes = { n = [1, 2] } }
  job {
    command = ["true"]
    resources { cpus = 3 }
    input "in" { from = phase.a.output.o }
  }
  place { candidates = [backend.local.here, backend.local.there] }
}
`)}, lang.LoadOptions{Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	b := c.Phases[1]
	st := &state.State{Jobs: map[string]*state.Job{
		b.Address(1): {Attempts: []state.Attempt{{N: 1, Backend: "local.here"}, {N: 2, Backend: "local.there", Pool: "fast"}}},
	}}
	for cell, want := range []lang.Target{
		{Backend: "local.here", Workdir: "/here", Spool: "/here/.muster/lists"},
		{Backend: "local.there", Pool: "fast", Workdir: "/there", Spool: "/there/.muster/lists"},
	} {
		got := site.Last(c, st, b, cell)
		if got.Backend != want.Backend || got.Pool != want.Pool || got.Workdir != want.Workdir || got.Spool != want.Spool || got.CPUs != 3 {
			t.Errorf("cell %d stands at %+v", cell, got)
		}
		if in := got.Input("in"); !slices.Equal(in, []string{want.Workdir + "/out/" + []string{"1", "2"}[cell]}) {
			t.Errorf("cell %d reads %q", cell, in)
		}
		if in := got.Input("other"); in != nil {
			t.Errorf("an input that is not declared is %q", in)
		}
	}
}
