package apply

import (
	"slices"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// placedPhase has two cells that ask for one CPU, and two that ask for two.
func placedPhase(t *testing.T) *lang.Phase {
	t.Helper()
	c, diags := lang.LoadFiles(map[string][]byte{"c.muster.hcl": []byte(`campaign "c" {}
phase "a" {
  grid { axes = { n = [1, 2, 3, 4] } }
  job {
    command = ["true", cell.n]
    resources { cpus = cell.n < 3 ? 1 : 2 }
  }
}
`)}, lang.LoadOptions{Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return c.Phases[0]
}

func decisionAt(d *place.Decision) string {
	if d == nil {
		return ""
	}
	return d.Where()
}

func TestWhereACellGoes(t *testing.T) {
	t.Parallel()
	plan := &planner.PhasePlan{Phase: placedPhase(t), Place: []uint16{1, 3, 0, 2},
		Placements: []place.Decision{{}, {Backend: "slurm.x", Pool: "short"}, {Backend: "ssh.lab"}, {Backend: "vastai.cloud"}}}
	p := placesOf(plan)
	for cell, want := range []string{"slurm.x short", "vastai.cloud", "ssh.lab", "ssh.lab"} { // the third was blocked: where the like fourth goes
		if got := decisionAt(p.Of(int32(cell))); got != want {
			t.Errorf("cell %d goes to %q, want %q", cell, got, want)
		}
	}
	if got := decisionAt(p.First(1)); got != "slurm.x short" {
		t.Errorf("without overflow to %q", got)
	}
	if p.Moved() {
		t.Error("moved before anything was")
	}
	p.Move(1, &place.Decision{Backend: "local.local"})
	if got := decisionAt(p.Of(1)); got != "local.local" || !p.Moved() || decisionAt(p.First(1)) != "slurm.x short" {
		t.Errorf("moved to %q, without overflow %q", got, decisionAt(p.First(1)))
	}
	for _, c := range []struct {
		cell                int32
		backend, pool, want string
	}{
		{0, "slurm.x", "short", "slurm.x short"},
		{0, "slurm.x", "", "slurm.x short"},
		{0, "vastai.cloud", "", "vastai.cloud"},
		{0, "slurm.x", "long", "slurm.x short"}, // not planned at all
		{1, "local.local", "", "local.local"},
	} {
		if got := decisionAt(p.On(c.cell, c.backend, c.pool)); got != c.want {
			t.Errorf("cell %d on %s %s: %q, want %q", c.cell, c.backend, c.pool, got, c.want)
		}
	}
	plan.Placements[2].Backend = "" // nothing fits
	if got := decisionAt(p.Of(2)); got != "" {
		t.Errorf("a cell without a place goes to %q", got)
	}
	if n := len(slices.Collect(p.All())); n != 2 {
		t.Errorf("%d places", n)
	}
}

func TestCandidatesBesideTheOneTaken(t *testing.T) {
	t.Parallel()
	d := &place.Decision{Backend: "b", Pool: "y", Fallback: "a is away", Wait: time.Hour,
		Candidates: []place.Candidate{{Backend: "a"}, {Backend: "b", Pool: "x"}, {Backend: "b", Pool: "y"}, {Backend: "c", Wait: time.Minute}}}
	names := func(all func(func(*place.Candidate) bool)) (out []string) {
		for c := range all {
			out = append(out, c.Backend+c.Pool)
		}
		return out
	}
	if got := names(otherCandidates(d)); !slices.Equal(got, []string{"a", "bx", "c"}) {
		t.Errorf("others %v", got)
	}
	if got := names(laterCandidates(d)); !slices.Equal(got, []string{"c"}) {
		t.Errorf("after it %v", got)
	}
	if got := names(laterCandidates(&place.Decision{Backend: "z", Candidates: d.Candidates})); got != nil {
		t.Errorf("after one that is no candidate %v", got)
	}
	next := decisionFor(d, &d.Candidates[3], "re-placed: full")
	if next.Backend != "c" || next.Wait != time.Minute || next.Why != "re-placed: full" || next.Fallback != "" || d.Backend != "b" {
		t.Errorf("%+v", next)
	}
}
