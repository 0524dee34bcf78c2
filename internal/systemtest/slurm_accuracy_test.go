package systemtest

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Jobs of a second or two behind six GPUs, and pairs cell by cell: what Slurm
// takes between jobs is as long as the jobs.
const slurmForecastCampaign = `campaign "forecast" {}
backend "slurm" "lab" {
  workdir = "WORKDIR"
  price   = { service_units_per_gpu_hour = 3600 }
}
phase "teach" {
  grid {
    repeat = ["r"]
    axes   = { r = range(24) }
  }
  place { candidates = [backend.slurm.lab] }
  job {
    command = "sleep 1; echo x > ${output.x}"
    output "x" { path = "teach/${cell.r}" }
    resources {
      gpus     = 1
      memory   = "50MiB"
      walltime = "10m"
    }
  }
}
phase "learn" {
  grid {
    repeat = ["r"]
    axes   = { r = range(24) }
  }
  place { candidates = [backend.slurm.lab] }
  max_parallel = 3
  job {
    command = "sleep 2; cp ${input.x} ${output.y}"
    input "x" { from = phase.teach.output.x }
    output "y" { path = "learn/${cell.r}" }
    resources {
      memory   = "50MiB"
      walltime = "10m"
    }
  }
}
`

// slurmForecast: what Slurm takes to start jobs is learnt from those that ran,
// and counted for the next; nothing is held against a clock, since machines
// differ. docs/accuracy.md has what was measured.
func slurmForecast(t *testing.T) {
	c := onSlurm(t, slurmForecastCampaign)
	if p := forecastOf(t, c); p.Walltime.P50 < 600 || !strings.Contains(strings.Join(p.Basis, "\n"), "no history yet") {
		t.Errorf("without history: %+v", p)
	}
	c.must("apply", "-auto-approve", `-target=phase.learn["r=1*"]`)
	p := forecastOf(t, c)
	if p.Counts.Run != 26 || strings.Contains(strings.Join(p.Basis, "\n"), "no history yet") {
		t.Errorf("the rest, with history: %+v", p)
	}
	if said := strings.Join(p.Notes, "\n"); !strings.Contains(said, "On slurm.lab aa100, ") || !strings.Contains(said, " is counted between the end of a job and the start of the next: the median of ") {
		t.Errorf("what Slurm takes between two jobs was not learnt:\n%s", said)
	}
	var report struct{ Ended time.Time }
	yes := time.Now()
	c.must("apply", "-auto-approve")
	c.read(&report, "report", "-json")
	// Thirteen pairs, three learners at once: five rounds of two seconds each at
	// the least, had Slurm taken no time.
	actual := report.Ended.Sub(yes).Seconds()
	t.Logf("expected %.1f s, p90 %.1f s, actual %.1f s; %s service units expected", p.Walltime.P50, p.Walltime.P90, actual, p.units(t))
	if rounds := 10.0; p.Walltime.P50 <= rounds+1 || p.Walltime.P90 < p.Walltime.P50 {
		t.Errorf("expected %.1f s, p90 %.1f s: what Slurm takes is not counted", p.Walltime.P50, p.Walltime.P90)
	}
	// Thirteen GPUs for a second each, and what a script takes around it: slower where
	// the machine is busy, and never less.
	if units, err := strconv.ParseFloat(p.units(t), 64); err != nil || units < 13 {
		t.Errorf("%v service units expected", units)
	}
}

type forecast struct {
	Counts   struct{ Run int }
	Notes    []string
	Basis    []string
	Walltime struct {
		P50 float64 `json:"p50_seconds"`
		P90 float64 `json:"p90_seconds"`
	}
	Cost []struct {
		Unit     string
		Expected struct{ Amount string }
	}
}

func forecastOf(t *testing.T, c *cluster) forecast {
	t.Helper()
	var p forecast
	c.read(&p, "plan", "-json")
	return p
}

// read takes in what a command prints as JSON.
func (c *cluster) read(into any, args ...string) {
	c.t.Helper()
	out, err := c.command(args...).Output()
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		c.t.Fatalf("muster %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (p forecast) units(t *testing.T) string {
	t.Helper()
	for _, l := range p.Cost {
		if l.Unit == "service_units" {
			return l.Expected.Amount
		}
	}
	t.Fatalf("no service units: %+v", p.Cost)
	return ""
}
