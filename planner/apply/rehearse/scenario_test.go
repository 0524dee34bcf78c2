package rehearse_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/planner/apply"
	"github.com/muster-run/muster/state"
)

// Scenario D4: 50 jobs on a cluster that runs five at once, ten on rented
// machines under $10; the cluster is away for a while, and the sixth rental
// bills double.
const splitUnderBudget = `
backend "sim" "alpine" {
  pool "aa100" {
    slots = 5
    gpus  = 8
    gpu   = "A100"
    nodes = 4
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
  limits     = { usd = 9.5 }
  applies_to = [backend.sim.vast]
}
phase "cluster" {
  grid { axes = { i = range(50) } }
  place { candidates = [backend.sim.alpine] }
  job {
    command = "x ${cell.i} > ${output.o}"
    resources {
      gpus     = 1
      walltime = "156m"
    }
    output "o" { path = "a${cell.i}" }
  }
}
phase "rented" {
  grid { axes = { i = range(10) } }
  place { candidates = [backend.sim.vast] }
  job {
    command = "x ${cell.i} > ${output.o}"
    resources {
      gpus     = 1
      walltime = "156m"
    }
    output "o" { path = "b${cell.i}" }
  }
}`

func TestSplitUnderBudget(t *testing.T) {
	t.Parallel()
	y := newYard(t, splitUnderBudget)
	began := y.clock.Now()
	o := y.apply(0)
	if o.Stopped != apply.Budget || !strings.Contains(o.Why, `budget "rent" does not cover`) || o.Done != 59 || o.Left != 1 {
		t.Errorf("%+v", o)
	}
	// 9 × 2.5 h × $0.35 + as much again for the sixth: a tenth would need $0.91.
	spent, _ := y.state.Spent(nil)
	if got := number(spent["usd"]); got < 8.74 || got > 8.76 {
		t.Errorf("spent $%s", spent["usd"])
	}
	for address, j := range y.state.Jobs {
		if len(j.Attempts) != 1 || j.Status != state.Completed {
			t.Errorf("%s: %s after %d launches", address, j.Status, len(j.Attempts))
		}
	}
	// Ten waves of two hours: the outage ends none of them, and hides none.
	if took := lastEnd(y.state).Sub(began); took != 20*time.Hour {
		t.Errorf("it took %v", took)
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
