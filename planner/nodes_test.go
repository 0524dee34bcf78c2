package planner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// TestNodesOfOptionsArePaid: a job is charged for the nodes of its submission; options may
// request more than resources.
func TestNodesOfOptionsArePaid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := `
campaign "test" {}
backend "slurm" "big" { workdir = "/w" }
budget "paper" { limits = { service_units = 50 } }
phase "a" {
  grid {
    axes = { s = [1, 2] }
  }
  place { candidates = [backend.slurm.big] }
  job {
    command = "x ${cell.s} ${output.o}"
    output "o" { path = "o/${cell.s}" }
    options "slurm" { nodes = 4 }
    resources {
      walltime = "1h"
    }
  }
  
}`
	if err := os.WriteFile(filepath.Join(dir, "test.muster.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	nodes := offer.Block{Attrs: []offer.Attr{{Name: "nodes", Type: offer.Number}}}
	c, diags := lang.Load(lang.LoadOptions{Dir: dir, Schemas: map[string]offer.Schema{"local": {Type: "local"}, "slurm": {Type: "slurm", Options: nodes, Can: offer.Capabilities{Remote: true}}}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	in := input(c, nil)
	in.Pools = []offer.Pool{
		{Backend: "slurm.big", Name: "one", Kind: offer.QueuePool, Word: "partition", CPUs: 64, MaxNodes: 1, Price: offer.Price{Known: true, SUPerNodeHour: "1"}},
		{Backend: "slurm.big", Name: "many", Kind: offer.QueuePool, Word: "partition", CPUs: 64, MaxNodes: 8, Price: offer.Price{Known: true, SUPerNodeHour: "10"}},
	}
	p := planned(t, in)
	d := p.Phases[0].Decision(0)
	if d.Pool != "many" || d.Shape.Nodes != 4 {
		t.Errorf("placed on %s with %d nodes", d.Pool, d.Shape.Nodes)
	}
	if got := p.Ceiling; got[place.ServiceUnits] != "50" || got[place.NodeHours] != "8" {
		t.Errorf("ceiling %v", got) // of 80 service units what the budget leaves
	}
	if b := p.Budgets[0]; !p.BudgetBroken() || !strings.Contains(strings.Join(b.Broken, ""), "p90 is 80 service units") {
		t.Errorf("%+v", b)
	}
	if got := d.Rates(d.Shape)["nodes"]; got != "4" {
		t.Errorf("%s nodes are recorded", got)
	}
}
