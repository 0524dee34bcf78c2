package view

import (
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
)

// TestAfter: which of the jobs of the phase before it a job comes after.
func TestAfter(t *testing.T) {
	t.Parallel()
	c, diags := lang.LoadFiles(map[string][]byte{"x.muster.hcl": []byte(`
phase "runs" {
  grid { axes = { temp = [300, 310], replica = [1, 2, 3] } }
  job {
    command = "run > ${output.o}"
    output "o" { path = "${cell.key}" }
  }
}
phase "each" {
  grid { axes = { temp = [300, 310], replica = [1, 2, 3] } }
  job {
    command = "look ${input.o} ${cell.replica}"
    input "o" { from = phase.runs.output.o }
  }
}
phase "mapped" {
  grid { axes = { at = [300, 310], replica = [1, 2, 3] } }
  job {
    command = "look ${input.o}"
    input "o" {
      from  = phase.runs.output.o
      match = { temp = cell.at }
    }
  }
}
phase "merge" {
  grid { axes = { temp = [300, 310] } }
  job {
    command = "merge ${input_file.o}"
    input "o" {
      from_all = phase.runs.output.o
      require  = "60%"
    }
  }
}
phase "some" {
  job {
    command = "merge ${input_file.o}"
    input "o" {
      from_all = phase.runs.output.o
      require  = 2
    }
  }
}
phase "clean" {
  job {
    command = "clean ${input_file.o}"
    input "o" {
      from_all = phase.runs.output.o
      require  = "0%"
    }
  }
}`)}, lang.LoadOptions{Dir: t.TempDir()})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	want := map[string]string{
		"runs":   "",
		"each":   "each after its run (same replica, temp)",
		"mapped": "each after its run (same replica, by temp)",
		"merge":  "each after 60% of its runs (same temp)",
		"some":   "needs 2 of phase.runs",
		"clean":  "after phase.runs, however its jobs end",
	}
	for _, p := range c.Phases {
		if got := after(&planner.PhasePlan{Phase: p}); got != want[p.Name] {
			t.Errorf("phase.%s: %q, not %q", p.Name, got, want[p.Name])
		}
	}
}
