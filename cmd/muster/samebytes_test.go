package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// manyThings is a campaign that has a little of everything that a plan lists:
// two clusters and a rental, prices in two units, budgets on parts, gates,
// edges, transfers, retries that scale, overflow and results. SEEDS is how many
// cells it has.
const manyThings = `
campaign "many" { max_parallel = 40 }
backend "sim" "alpine" {
  pool "aa100" {
    nodes = 4
    gpus  = 4
    gpu   = "A100"
    wait  = "20m"
    su_per_gpu_hour = 3
  }
  pool "amilan" {
    cpus = 64
    slots = 8
    su_per_cpu_hour = 1
  }
  jobs {
    runtime     = "40m"
    runtime_p90 = "1h"
    fails       = { preempted = 0.1, oom_host = 0.05 }
  }
}
backend "sim" "vast" {
  pool "4090" {
    word = "offer"
    nodes = 3
    gpus = 1
    gpu  = "RTX 4090"
    boot = "5m"
    usd_per_gpu_hour = 0.35
  }
  pool "3090" {
    word = "offer"
    nodes = 3
    gpus = 1
    gpu  = "RTX 3090"
    usd_per_gpu_hour = 0.2
  }
  jobs { runtime = "50m" }
}
budget "all" {
  limits   = { usd = 60, service_units = 90000, gpu_hours = 5000 }
  deadline = "2026-12-01T00:00:00Z"
  warn_at  = 0.1
}
budget "rented" {
  limits     = { usd = 20 }
  applies_to = [backend.sim.vast, phase.score]
}
policy { approve_above = { usd = 10, service_units = 1000 } }
phase "prep" {
  grid { axes = { n = [1, 2, 4, 8] } }
  place { candidates = [backend.sim.alpine] }
  job {
    command = "prep ${cell.n} > ${output.data}"
    resources {
      cpus     = cell.n
      memory   = "${cell.n}GiB"
      walltime = "3h"
    }
    output "data" { path = "d${cell.n}" }
  }
}
phase "train" {
  grid {
    axes = { n = [1, 2, 4, 8], seed = range(SEEDS) }
    repeat = ["seed"]
  }
  place {
    candidates = [backend.sim.alpine]
    overflow   = [backend.sim.vast]
  }
  retry {
    max_attempts = 4
    on           = ["preempted", "oom"]
    scale "oom_host" { memory = 1.5 }
  }
  job {
    command = "train ${cell.n} ${cell.seed} ${input.data} > ${output.w}"
    env     = { A = "1", B = "2", C = "3" }
    resources {
      gpus     = 1
      memory   = "8GiB"
      walltime = "2h"
    }
    input "data" { from = phase.prep.output.data }
    output "w" { path = "w${cell.n}-${cell.seed}" }
  }
}
phase "score" {
  grid { axes = { n = [1, 2, 4, 8], seed = range(SEEDS) } }
  place { candidates = [backend.sim.vast, backend.sim.alpine] }
  params = { steps = 100 }
  smoke {
    params   = { steps = 1 }
    walltime = "10m"
    cells    = "ends"
  }
  pilot { cells = "first" }
  job {
    command = "score ${param.steps} ${cell.seed} ${cell.n} ${input.w} > ${output.s}"
    resources {
      gpus     = 1
      walltime = "1h"
    }
    input "w" { from = phase.train.output.w }
    output "s" { path = "s${cell.n}-${cell.seed}" }
  }
}
`

// TestTheSamePlanIsTheSameBytes: in another process, another directory and in
// every form, over campaigns that have not begun, that are done in part with a
// history of failures, and that were changed since.
func TestTheSamePlanIsTheSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("runs many commands; make test does")
	}
	t.Parallel()
	first := t.TempDir()
	write := func(e *sample, seeds string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(e.dir, "c.muster.hcl"), []byte(strings.ReplaceAll(manyThings, "SEEDS", seeds)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(first, "many")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	one := exampleOf(t, dir)
	write(one, "20")
	one.env = append(one.env, "MUSTER_NOW=2026-10-01T09:00:00Z")
	alike(t, one, "a campaign that has not begun")
	write(one, "6")
	one.muster(0, "apply", "-auto-approve", "-target=phase.prep", "-target=phase.train")
	one.env[len(one.env)-1] = "MUSTER_NOW=2026-10-05T09:00:00Z"
	alike(t, one, "done in part")
	write(one, "20")
	alike(t, one, "with a history, and more to do")
}

// slow matches a plan's line on a terminal or in a log while a busy machine lets it
// wait.
var slow = regexp.MustCompile(`(?m)^Waiting for backend\..*…\n`)

// alike plans in every form, several times, and once more from a copy of the
// whole directory.
func alike(t *testing.T, e *sample, what string) {
	t.Helper()
	forms := [][]string{{}, {"-verbose"}, {"-json"}, {"-markdown"}, {"-out=plan.muster"}}
	for _, form := range forms {
		var want []byte
		for n := range 4 {
			at := *e
			if n == 3 {
				at.dir = filepath.Join(t.TempDir(), filepath.Base(e.dir))
				if err := os.CopyFS(at.dir, os.DirFS(e.dir)); err != nil {
					t.Fatal(err)
				}
			}
			got := slow.ReplaceAll([]byte(at.muster(0, append([]string{"plan"}, form...)...)), nil)
			if len(form) > 0 && form[0] == "-out=plan.muster" {
				file := filepath.Join(at.dir, "plan.muster")
				saved, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				shown := at.muster(0, "show", "-json", "plan.muster")
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
				got = append(append(got, saved...), shown...)
			}
			if n == 0 {
				want = got
				continue
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s: plan %v is not the same the %d. time:\n%s", what, form, n+1, firstDifference(want, got))
			}
		}
	}
}

// firstDifference is the first line in which two outputs differ.
func firstDifference(want, got []byte) string {
	a, b := bytes.Split(want, []byte("\n")), bytes.Split(got, []byte("\n"))
	for i := range min(len(a), len(b)) {
		if !bytes.Equal(a[i], b[i]) {
			return string(a[i][:min(len(a[i]), 400)]) + "\n" + string(b[i][:min(len(b[i]), 400)])
		}
	}
	return "one is longer"
}
