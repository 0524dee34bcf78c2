package rehearse_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/state"
)

// Scenario D4: 60 jobs on a cluster that runs five at once, those that would
// wait on rented machines under $10; the cluster is away for a while, and the
// sixth rental bills double.
const splitUnderBudget = `
backend "sim" "alpine" {
  pool "aa100" {
    slots = 5
    gpus  = 8
    gpu   = "A100"
    nodes = 4
    max_walltime = "24h"
  }
  jobs { runtime = "2h" }
  outage {
    after = "3h"
    lasts = "5h"
  }
}
backend "sim" "vast" {
  pool "4090" {
    word             = "offer"
    nodes            = 4
    gpus             = 1
    gpu              = "RTX 4090"
    usd_per_gpu_hour = 0.35
  }
  jobs { runtime = "2h30m" }
  price_change {
    launches = [6]
    factor   = 2
  }
}
budget "rent" {
  limits     = { usd = 10 }
}
phase "all" {
  grid { axes = { i = range(60) } }
  place {
    candidates = [backend.sim.alpine]
    overflow   = [backend.sim.vast]
  }
  job {
    command = "x ${cell.i} > ${output.o}"
    resources {
      gpus     = 1
      walltime = "156m"
    }
    output "o" { path = "a${cell.i}" }
  }
}`

func TestSplitUnderBudget(t *testing.T) {
	t.Parallel()
	y := newYard(t, splitUnderBudget)
	began := y.clock.Now()
	_, p, _ := y.plan()
	planned := map[string]int{}
	for i := range p.Phases[0].Kind {
		planned[p.Phases[0].Decision(i).Backend]++
	}
	if planned["sim.alpine"] != 50 || planned["sim.vast"] != 10 {
		t.Errorf("planned %v", planned)
	}
	if o := y.apply(0); o.Stopped != progress.None || o.Done != 60 {
		t.Errorf("%+v", o)
	}
	// Nine of 2.5 h at $0.35 and as much again for the sixth: what was approved
	// does not cover a tenth at its ceiling of $0.91, which goes to the cluster.
	spent, _ := y.state.Spent(nil)
	if got := number(spent["usd"]); math.Abs(got-8.75) > 1e-6 {
		t.Errorf("spent $%s", spent["usd"])
	}
	ran := map[string]int{}
	for address, j := range y.state.Jobs {
		ran[j.Last().Backend]++
		if len(j.Attempts) != 1 || j.Status != state.Completed {
			t.Errorf("%s: %s after %d launches", address, j.Status, len(j.Attempts))
		}
	}
	if ran["sim.alpine"] != 51 || ran["sim.vast"] != 9 {
		t.Errorf("ran %v", ran)
	}
	// The outage ends none of the cluster's waves of two hours, and hides none.
	if took := lastEnd(y.state).Sub(began); took != 22*time.Hour {
		t.Errorf("it took %v", took)
	}
}

// TestOverflowAfterASmoke: a phase with a smoke overflows, too, once the smoke has
// passed where the phase goes first; after one that failed nothing starts anywhere.
func TestOverflowAfterASmoke(t *testing.T) {
	t.Parallel()
	hcl := strings.Replace(splitUnderBudget, "  job {\n", "  smoke { walltime = \"150m\" }\n  job {\n", 1)
	y := newYard(t, hcl)
	if o := y.apply(0); o.Stopped != progress.None || o.Done != 60 {
		t.Fatalf("%+v", o)
	}
	smoke := y.state.Jobs[`smoke.phase.all["i=0"]`]
	if smoke == nil || smoke.Last().Backend != "sim.alpine" {
		t.Fatalf("the smoke: %+v", smoke)
	}
	ran := map[string]int{}
	for address, j := range y.state.Jobs {
		if j.Smoke {
			continue
		}
		ran[j.Last().Backend]++
		if j.Last().Started.Before(smoke.Last().Ended) {
			t.Errorf("%s started before the smoke had ended", address)
		}
	}
	// As without a smoke: the sixth bills double, and the rest does not cover a tenth.
	if ran["sim.alpine"] != 51 || ran["sim.vast"] != 9 {
		t.Errorf("ran %v", ran)
	}
	for _, v := range y.state.Validations {
		if v.Class != "sim.alpine/A100" || !v.Passed {
			t.Errorf("%+v", v)
		}
	}

	y = newYard(t, strings.Replace(hcl, "jobs { runtime = \"2h\" }", "jobs {\n    runtime = \"2h\"\n    fails = { nan = 1 }\n  }", 1))
	if y.apply(0); len(y.state.Jobs) != 1 {
		t.Errorf("%d jobs were started behind a failed smoke", len(y.state.Jobs)-1)
	}
}

// TestTheSameApplyTwice: in virtual time an apply has one outcome.
func TestTheSameApplyTwice(t *testing.T) {
	t.Parallel()
	tell := func() string {
		y := newYard(t, splitUnderBudget)
		y.apply(0)
		var lines []string
		for _, j := range y.state.All() {
			a := j.Last()
			lines = append(lines, j.Address+" "+a.Started.String()+" "+a.Ended.String())
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	if a, b := tell(), tell(); a != b {
		t.Errorf("%s\n%s", a, b)
	}
}
