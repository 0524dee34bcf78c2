package refresh

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

// TestGroups: jobs that ask for the same are one question, and a phase's smokes
// another.
func TestGroups(t *testing.T) {
	dir := t.TempDir()
	text := `campaign "test" {}
phase "a" {
  grid {
    axes = { cpus = [1, 2], seed = [1, 2, 3] }
  }
  params = { lr = "1" }
  job {
    command = "train ${cell.seed} ${param.lr} ${output.out}"
    output "out" {
      path = "out/${cell.cpus}_${cell.seed}.txt"
    }
    resources {
      cpus     = cell.cpus
      walltime = "1h"
    }
  }
  smoke {
    params   = { lr = "0" }
    walltime = "10m"
    cells    = "first"
  }
}
`
	if err := os.WriteFile(filepath.Join(dir, "test.muster.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, diags := lang.Load(lang.LoadOptions{Dir: dir, Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	got := jobGroups(c)
	if len(got) != 3 {
		t.Fatalf("%d questions: %+v", len(got), got)
	}
	for k, want := range []struct {
		cells, cpus int
		smoke       bool
	}{{3, 1, false}, {3, 2, false}, {1, 1, true}} {
		if g := got[k]; g.Cells != want.cells || g.Shape.CPUs != want.cpus || g.Smoke != want.smoke || g.Shape.Smoke != want.smoke {
			t.Errorf("question %d: %+v", k, g)
		}
	}
}
