package systemtest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// slurmRoundsCampaign is an optimisation: CPU work in settings of memory and size, and trainings
// on GPUs. A task uses some 100 MB. With 300MB every fourth task runs out of memory; with 1GB and
// size 2 two of them do, in corners of the grid.
const slurmRoundsCampaign = `campaign "rounds" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
phase "round1" {
  grid { axes = { memory = ["2GB", "1GB", "300MB"], size = [1, 2], task = range(22) } }
  place { candidates = [backend.slurm.lab] }
  max_parallel = 12
  smoke { walltime = "2m" }
  trial {
    hypothesis = "half the memory suffices, and larger jobs do more"
    varies     = ["memory", "size"]
    baseline   = { memory = "2GB", size = 1 }
    judge      = "metric.rate"
    goal       = "most"
  }
  job {
    command = "echo round1 >> RECORD; dd if=/dev/zero of=/dev/null bs=100M count=1 2>/dev/null; case ${cell.memory}.${cell.size}.$((${cell.task} % 4)).${cell.task} in 300MB.*.0.*|1GB.2.*.3|1GB.2.*.18) echo 'MemoryError: Unable to allocate 2.00 GiB' >&2; exit 1;; esac; echo rate = $((80 + 20 * ${cell.size})) > ${output.o}"
    output "o" { path = "r1/${cell.memory}-${cell.size}-${cell.task}" }
    metric "rate" {
      output = "o"
      regex  = "rate = ([0-9]+)"
    }
    resources {
      cpus     = cell.size
      memory   = cell.memory
      walltime = "5m"
    }
  }
}
grid "sizes" { axes = { size = [2, 3], task = range(3) } }
phase "round2" {
  grid = grid.sizes
  place { candidates = [backend.slurm.lab] }
  trial {
    hypothesis = "three do still more"
    varies     = ["size"]
    baseline   = { size = 2 }
    judge      = "metric.rate"
    goal       = "most"
    after      = phase.round1
  }
  job {
    command = "echo rate = $((118 + ${cell.size})) > ${output.o} # ${cell.task}"
    output "o" { path = "r2/${cell.size}-${cell.task}" }
    metric "rate" {
      output = "o"
      regex  = "rate = ([0-9]+)"
    }
    resources {
      memory   = "50MB"
      walltime = "5m"
    }
  }
}
phase "round3" {
  grid = grid.sizes
  place { candidates = [backend.slurm.lab] }
  trial {
    hypothesis = "the queue is what remains"
    varies     = ["size"]
    baseline   = { size = 2 }
    judge      = "metric.rate"
    goal       = "most"
    after      = phase.round2
  }
  job {
    command = "echo rate = $((118 + ${cell.size})) > ${output.o} # again ${cell.task}"
    output "o" { path = "r3/${cell.size}-${cell.task}" }
    metric "rate" {
      output = "o"
      regex  = "rate = ([0-9]+)"
    }
    resources {
      memory   = "50MB"
      walltime = "5m"
    }
  }
}
phase "round4" {
  grid = grid.sizes
  place { candidates = [backend.slurm.lab] }
  trial {
    hypothesis = "once more"
    varies     = ["size"]
    baseline   = { size = 2 }
    judge      = "metric.rate"
    goal       = "most"
    after      = phase.round3
  }
  job {
    command = "echo round4 >> RECORD; echo rate = 1 > ${output.o} # ${cell.size} ${cell.task}"
    output "o" { path = "r4/${cell.size}-${cell.task}" }
    metric "rate" {
      output = "o"
      regex  = "rate = ([0-9]+)"
    }
    resources {
      memory   = "50MB"
      walltime = "5m"
    }
  }
}
phase "train" {
  grid { axes = { seed = range(6) } }
  place { candidates = [backend.slurm.lab] }
  smoke { walltime = "2m" }
  job {
    command = "echo train >> RECORD; dd if=/dev/zero of=/dev/null bs=100M count=1 2>/dev/null; echo ${cell.seed} > ${output.w}"
    output "w" { path = "train/${cell.seed}" }
    resources {
      gpus     = 1
      memory   = "16GB"
      walltime = "5m"
    }
  }
}
`

// slurmRounds is an optimisation in rounds: of the first round's settings two are stopped, as a
// quarter of their jobs runs out of memory, and one that loses two jobs goes on; the next round
// waits for it, and two rounds that gain too little end the search.
func slurmRounds(t *testing.T) {
	// Requirement: RND-01, RND-02, RND-08, RND-09, SUM-02
	c := onSlurm(t, slurmRoundsCampaign)
	apply := func(want ...string) {
		t.Helper()
		out, code := c.run("apply", "-auto-approve")
		if code != 3 {
			t.Fatalf("exit %d, want 3:\n%s", code, out)
		}
		for _, w := range want {
			if !regexp.MustCompile(w).MatchString(out) {
				t.Errorf("apply does not say %s:\n%s", w, out)
			}
		}
	}
	type setting struct {
		Setting            string
		Jobs, Done, Failed int
		Stopped            string
		Sum                map[string]float64
	}
	type round struct {
		Phase, Verdict, Promoted string
		Left                     int
		Settings                 []setting
	}
	report := func() (rounds map[string]round) {
		t.Helper()
		var r struct{ Rounds []round }
		if err := json.Unmarshal([]byte(c.must("report", "-json")), &r); err != nil {
			t.Fatal(err)
		}
		rounds = map[string]round{}
		for _, at := range r.Rounds {
			rounds[at.Phase] = at
		}
		return rounds
	}

	apply(`phase\.round1\["memory=300MB,size=1,\*"\] starts nothing more: \d of \d\d finished jobs failed with oom`,
		`phase\.round1\["memory=300MB,size=2,\*"\] starts nothing more`)
	first := report()["round1"]
	if first.Left > 0 || first.Promoted != "memory=2GB, size=2" {
		t.Errorf("the first round ended with %+v", first)
	}
	for _, s := range first.Settings {
		stopped, lost := strings.Contains(s.Setting, "300MB"), 0
		if s.Setting == "memory=1GB, size=2" {
			lost = 2
		}
		if (s.Stopped != "") != stopped || !stopped && (s.Failed != lost || s.Done != 22-lost) {
			t.Errorf("of the settings: %+v", s)
		}
		if s.Sum["queue_seconds"] <= 0 || s.Sum["run_seconds"] <= 0 {
			t.Errorf("queue and run are not told apart: %+v", s)
		}
	}
	if n := c.ran()["round1"]; n >= 6*22+2 {
		t.Errorf("no job of a stopped setting was spared: %d ran", n)
	}

	out := c.must("advise")
	for _, want := range []string{`phase\.train: Ask for less memory`, `- *memory *= "16GB"`, `\+ *memory *= "1\d\dMB"`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("advise does not say %s:\n%s", want, out)
		}
	}
	write := c.command("advise", "-write")
	write.Env = append(write.Env, "CI=")
	write.Stdin = strings.NewReader("yes\n")
	if out, err := write.CombinedOutput(); err != nil || !strings.Contains(string(out), "Wrote campaign.muster.hcl") {
		t.Fatalf("%v: %s", err, out)
	}
	if text := c.campaign(); strings.Contains(text, `"16GB"`) {
		t.Error("the advice is not in the campaign:\n" + text)
	}

	apply() // the second round
	apply() // and the third
	said := c.must("report", "-rounds")
	for _, want := range []string{"failed launches", "queue", "retries", "stopped: ", "promoted", "### CPU", "### GPU", "Out of memory"} {
		if !strings.Contains(said, want) {
			t.Errorf("the report does not say %q:\n%s", want, said)
		}
	}
	if r := report(); !slices.Equal([]string{"keep", "keep"}, []string{r["round2"].Verdict[:4], r["round3"].Verdict[:4]}) {
		t.Errorf("rounds that gain too little: %+v", r)
	}
	if out := c.must("plan"); !strings.Contains(out, "the search ended") {
		t.Errorf("the fourth round is not held:\n%s", out)
	}
	apply()
	if ran := c.ran(); ran["round4"] > 0 || ran["train"] != 7 {
		t.Errorf("after the search ended: %v", ran)
	}
}
