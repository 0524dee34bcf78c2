package systemtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/program"
)

const slurmRetried = `campaign "retried" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
phase "first" {
  place { candidates = [backend.slurm.lab] }
  retry {
    on           = ["missing_file"]
    max_attempts = 20
    delay        = "30s"
  }
  breaker { same_error = 3 }
  job {
    command = "date +%s >> RECORD; nosuchprogram"
    output "r" { path = "first" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
phase "second" {
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo second >> RECORD; cp ${input.r} ${output.r}"
    input "r" { from = phase.first.output.r }
    output "r" { path = "second" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
`

// slurmCeiling: a job that dies at once and may be tried again every 30 s starts three times,
// in a minute at least, and is reported once, with muster off and with muster running.
func slurmCeiling(t *testing.T) {
	for _, detached := range []bool{true, false} {
		name := "driven"
		if detached {
			name = "muster off"
		}
		t.Run(name, func(t *testing.T) {
			c := onSlurm(t, slurmRetried)
			c.count("", "sbatch")
			var out string
			if detached {
				c.must("apply", "-detach", "-auto-approve")
				c.idle(4 * time.Minute)
				out, _ = c.pass()
			} else {
				out, _ = c.run("apply", "-auto-approve")
			}
			text, err := os.ReadFile(c.log)
			if err != nil {
				t.Fatal(err)
			}
			starts := strings.Fields(string(text))
			if len(starts) != 3 {
				t.Fatalf("%d launches, 3 were to be:\n%s\n%s", len(starts), text, out)
			}
			from, err1 := strconv.Atoi(starts[0])
			to, err2 := strconv.Atoi(starts[2])
			if err1 != nil || err2 != nil || to-from < 60 {
				t.Errorf("three launches within %d s", to-from)
			}
			if n := strings.Count(out, "starts nothing more"); n != 1 || !strings.Contains(out, "the same error 3 times in a row") {
				t.Errorf("it is told of %d times:\n%s", n, out)
			}
			if strings.Contains(out, "launch 4 of 20 in") || !strings.Contains(out, "launch 4 of 20 waits for muster resume phase.first") {
				t.Errorf("what follows is told wrongly:\n%s", out)
			}
			sent := 0
			for _, call := range c.calls("sbatch") {
				if strings.HasSuffix(call, ".sh") {
					sent++
				}
			}
			if sent > 4 {
				t.Errorf("%d submissions", sent)
			}
		})
	}
}

const slurmCauses = `campaign "causes" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
phase "crash" {
  grid { axes = { i = range(8) } }
  place { candidates = [backend.slurm.lab] }
  max_parallel = 1
  job {
    command = "echo crash ${cell.i} >> RECORD; nosuchprogram"
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
phase "share" {
  grid { axes = { i = range(40) } }
  place { candidates = [backend.slurm.lab] }
  max_parallel = 1
  breaker { same_error = 0 }
  job {
    command = "echo share ${cell.i} >> RECORD; test $(( ${cell.i} % 5 )) != 0 || { echo no licence; exit 3; }"
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
`

// slurmStops: with muster off a phase stops after two jobs that crash for want
// of the program, or when a share of twenty has failed for one cause; what is
// still queued does not run, and whoever comes back is told why.
func slurmStops(t *testing.T) {
	c := onSlurm(t, slurmCauses)
	c.must("apply", "-detach", "-auto-approve")
	c.idle(5 * time.Minute)
	out, code := c.pass()
	if code == 0 {
		t.Errorf("what has failed has not:\n%s", out)
	}
	ran := c.ran()
	for name, want := range map[string]int{"crash": 2, "share": 20} {
		got := 0
		for line := range ran {
			if strings.HasPrefix(line, name+" ") {
				got++
			}
		}
		if got != want {
			t.Errorf("%d jobs of %s ran, %d were to", got, name, want)
		}
	}
	for _, want := range []string{"phase.crash starts nothing more: all jobs crash with the same error", "phase.share starts nothing more: 4 of 20 finished jobs failed with"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not said:\n%s", want, out)
		}
	}
}

// slurmOwnSbatch: a command that runs sbatch itself, or whose script does, is reported, and
// starts from a saved plan only.
func slurmOwnSbatch(t *testing.T) {
	for name, command := range map[string]string{"command": "sbatch next.sh || true", "script": "./link.sh"} {
		t.Run(name, func(t *testing.T) {
			c := onSlurm(t, strings.Replace(slurmRetried, "nosuchprogram", command, 1))
			program.Write(t, filepath.Join(c.workdir, "link.sh"), "#!/bin/bash\nsbatch link.sh\n")
			plan := c.must("plan", "-out=saved")
			if !strings.Contains(plan, "runs sbatch") {
				t.Errorf("the plan does not say so:\n%s", plan)
			}
			if out, code := c.run("apply", "-auto-approve"); code == 0 || len(c.ran()) != 0 {
				t.Errorf("it started without a person: exit %d\n%s", code, out)
			}
		})
	}
}

const fiveThousand = `campaign "many" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
phase "many" {
  grid { axes = { i = range(5000) } }
  place { candidates = [backend.slurm.lab] }
  max_parallel = 1
  job {
    command = "echo many ${cell.i} >> RECORD; sleep 600"
    resources {
      memory   = "50MiB"
      walltime = "20m"
    }
  }
}
`

// handOverLimit is how long the submission of 5,000 jobs may take.
const handOverLimit = time.Minute

// array5000: 5,000 jobs are submitted as one array, watched with few commands, and cancelled;
// a neighbour in the account is left alone.
func array5000(t *testing.T, on func(*testing.T, string) *cluster) {
	c := on(t, fiveThousand)
	neighbour := c.dialect.neighbour(c)
	t.Cleanup(func() { c.tell(c.dialect.cancel, neighbour) })
	c.count("", c.dialect.commands...)
	began := time.Now()
	c.must("apply", "-detach", "-auto-approve")
	took := time.Since(began)
	t.Logf("5,000 jobs were handed over in %.1f s", took.Seconds())
	if took > handOverLimit {
		t.Errorf("5,000 jobs were handed over in %v", took)
	}
	arrays := 0
	for _, call := range c.calls(c.dialect.submit) {
		if strings.HasSuffix(call, ".sh") {
			arrays++
		}
	}
	if arrays != 1 {
		t.Errorf("%d arrays", arrays)
	}
	c.until("first job", time.Minute, func() bool { return len(c.ran()) == 1 })
	// A watch; what an hour of it takes is counted in providers/batch.
	os.Remove(c.tools + "/calls")
	cmd := c.command("apply", "-auto-approve")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute)
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	n := 0
	for _, name := range c.dialect.commands {
		n += len(c.calls(name))
	}
	t.Logf("%d of the scheduler's commands in the first minute of a watch", n)
	if n > 25 {
		t.Errorf("%d commands in a minute, those of the plan among them", n)
	}
	c.must("cancel", "phase.many")
	c.idle(2 * time.Minute)
	if len(c.ran()) != 1 {
		t.Errorf("%d jobs ran", len(c.ran()))
	}
	if !c.dialect.alive(c, neighbour) {
		t.Error("the neighbour's job is gone")
	}
	if out := c.must("plan"); !strings.Contains(out, "0 to run") || !strings.Contains(out, "5,000 held") {
		t.Errorf("the next plan would start them again:\n%s", out)
	}
}
