package systemtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const slurmPipelineCampaign = `campaign "pipeline" {}
variable "diverges" { default = false }
backend "slurm" "lab" { workdir = "WORKDIR" }
phase "check" {
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo check $SLURM_JOB_PARTITION >> RECORD; : > ${output.ok}"
    output "ok" { path = "check.ok" }
    resources {
      memory   = "50MiB"
      walltime = "2m"
    }
  }
}
phase "npt" {
  place { candidates = [backend.slurm.lab] }
  params = { steps = 100 }
  smoke {
    params   = { steps = 1 }
    walltime = "2m"
    expect {
      condition = metric.energy < 0
      message   = "the energy is not finite"
    }
  }
  job {
    command = "echo npt ${param.steps} $SLURM_JOB_PARTITION >> RECORD; echo energy = ${var.diverges ? "nan" : "-1.5"} > ${output.log}"
    input "ok" { from = phase.check.output.ok }
    output "log" { path = "npt.log" }
    metric "energy" {
      output = "log"
      regex  = "energy = (\\S+)"
    }
    resources {
      gpus     = 1
      memory   = "50MiB"
      walltime = "2h"
    }
  }
}
phase "snapshots" {
  grid { axes = { i = range(1, 21) } }
  place { candidates = [backend.slurm.lab] }
  max_parallel = 5
  job {
    command = "echo begin ${cell.i} >> RECORD; sleep 1; if [ ${cell.i} = 7 ] && [ ! -e WORKDIR/mended ]; then echo no licence; exit 3; fi; echo x > ${output.r}; echo end ${cell.i} >> RECORD"
    input "start" { from = phase.npt.output.log }
    output "r" { path = "snapshots/${cell.i}" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
phase "analysis" {
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo analysis >> RECORD; cat ${join(" ", input.r)} > ${output.table}"
    input "r" { from_all = phase.snapshots.output.r }
    output "table" { path = "table" }
    resources {
      memory   = "50MiB"
      walltime = "2m"
    }
  }
}
`

// slurmPipeline is the way from a smoke to an array: nothing big is submitted
// before the smoke of the same configuration has passed, one element that
// fails runs again alone, and a configuration that has passed is not smoked
// again. Chained segments are in slurmSegments.
func slurmPipeline(t *testing.T) { pipeline(t, onSlurm) }

func pipeline(t *testing.T, on func(*testing.T, string) *cluster) {
	c := on(t, slurmPipelineCampaign)
	small, large := c.dialect.queues[0], c.dialect.queues[1]
	c.count("", c.dialect.submit)
	says := func(out string, words ...string) {
		t.Helper()
		for _, w := range words {
			if !strings.Contains(out, w) {
				t.Errorf("%q is not said:\n%s", w, out)
			}
		}
	}
	ran := func(want map[string]int) {
		t.Helper()
		got := c.ran()
		for line, n := range want {
			if got[line] != n {
				t.Errorf("%q ran %d times and not %d: %v", line, got[line], n, got)
			}
		}
	}

	says(c.must("plan"), "+ smoke", "phase.npt", "phase.snapshots", "phase.analysis")
	says(c.must("plan", "-show-scripts"), append(c.dialect.directives,
		"# check list of phase.npt:", "smoke first, on ", "lab "+small, "# check list of phase.snapshots:", "# check list of phase.analysis:")...)
	if calls := c.submissions(); len(calls) > 0 || c.ours() != "" {
		t.Errorf("a plan submitted: %v, %s", calls, c.ours())
	}

	out, code := c.run("apply", "-auto-approve", "-var", "diverges=true")
	if code == 0 {
		t.Fatalf("a smoke without a finite energy has passed:\n%s", out)
	}
	says(out, "phase.npt", "energy")
	c.idle(time.Minute) // PBS takes a moment to end a job that has recorded its end
	ran(map[string]int{"check atesting": 0, "npt 1 " + small: 1, "npt 100 " + large: 0, "begin 1": 0})

	out, code = c.run("apply", "-auto-approve")
	if code == 0 {
		t.Fatalf("the element that fails has not:\n%s", out)
	}
	says(out, "no licence", `phase.snapshots["i=7"]`)
	ran(map[string]int{"npt 1 " + small: 2, "npt 100 " + large: 1, "begin 7": 1, "begin 20": 1, "end 20": 1, "analysis": 0})
	text, err := os.ReadFile(c.log)
	if err != nil {
		t.Fatal(err)
	}
	running, most := 0, 0
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "begin 7\n"):
		case strings.HasPrefix(line, "begin"):
			running++
		case strings.HasPrefix(line, "end"):
			running--
		}
		most = max(most, running)
	}
	if most > 5 {
		t.Errorf("%d elements ran at once", most)
	}

	if err := os.WriteFile(filepath.Join(c.workdir, "mended"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c.must("resume", `phase.snapshots["i=7"]`)
	says(c.must("apply", "-auto-approve"), "23 of 23 jobs done and verified")
	ran(map[string]int{"begin 7": 2, "begin 6": 1, "end 20": 1, "analysis": 1, "npt 100 " + large: 1})
	says(c.must("plan"), "Nothing to do")
	if err := os.Remove(filepath.Join(c.workdir, "npt.log")); err != nil {
		t.Fatal(err)
	}
	says(c.must("plan", `-rerun=phase.snapshots["i=7"]`), "smoke skipped: same config passed on")
}
