package rehearse_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/planner/apply/rehearse"
)

// TestCheckpointsArePlayed: a job that takes longer than its walltime goes on from
// its checkpoint, less what was done since it was written.
func TestCheckpointsArePlayed(t *testing.T) {
	t.Parallel()
	hcl := strings.Replace(phase("a", 4, ""), "place {", `checkpoint {
    path     = "ck/${cell.key}"
    interval = "10m"
  }
  retry {
    on           = ["walltime"]
    max_attempts = 4
    delay        = "5m"
  }
  place {`, 1)
	hcl = strings.Replace(hcl, "> ${output.o}", "--resume ${checkpoint} > ${output.o}", 1)
	y := newYard(t, campaign("slots = 4\nusd_per_hour = 1", "runtime = \"6h\"", hcl))
	_, runs := y.rehearse(2, nil)
	// Four hours until the walltime, then the two that are left and ten minutes again.
	for _, r := range runs {
		if want := 6*time.Hour + 15*time.Minute; r.Done != 4 || r.Retries != 4 || r.Took != want {
			t.Errorf("%+v, not %s", r, want)
		}
		if got, want := rehearse.Spent("usd")(r), 4*(6+1.0/6); math.Abs(got-want) > 0.001 {
			t.Errorf("spent $%.3f, not %.3f", got, want)
		}
	}
}

// TestRetriesGrow: a launch that ran out of memory takes more of the machine the
// next time, so that fewer run at once.
func TestRetriesGrow(t *testing.T) {
	t.Parallel()
	grown := func(scale string) time.Duration {
		hcl := strings.Replace(phase("a", 8, ""), "place {", `retry {
    on           = ["oom"]
    max_attempts = 2
    `+scale+`
  }
  breaker { same_error = 0 }
  place {`, 1)
		hcl = strings.Replace(hcl, "cpus     = 1", "cpus     = 1\n      memory   = \"4GiB\"", 1)
		y := newYard(t, campaign("word = \"machine\"\ncpus = 16\nmemory = \"32GiB\"", "runtime = \"1h\"\nfails = { oom_host = 1 }", hcl))
		_, runs := y.rehearse(1, nil)
		if runs[0].Retries != 8 || runs[0].Failed != 8 {
			t.Errorf("%+v", runs[0])
		}
		return runs[0].Took
	}
	plain, scaled := grown(""), grown("scale \"oom_host\" { memory = 4 }")
	if scaled <= plain {
		t.Errorf("with four times the memory it took %s, else %s", scaled, plain)
	}
}
