package systemtest

import (
	"strings"
	"testing"
	"time"
)

// slurmPhases is a campaign of three phases of n jobs, one to one.
const slurmPhases = `campaign "phases" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
grid "g" { axes = { seed = range(0, COUNT) } }
phase "teachers" {
  grid  = grid.g
  place { candidates = [backend.slurm.lab] }
  max_parallel = 20
  job {
    command = "echo teacher ${cell.seed} >> RECORD; if [ ${cell.seed} = 7 ]; then printf '{\"a\": ' > ${output.r}; else echo '{\"a\": 1}' > ${output.r}; fi"
    output "r" {
      path   = "out/t${cell.seed}.json"
      verify = "json"
    }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
phase "students" {
  grid  = grid.g
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo student ${cell.seed} >> RECORD; cp ${input.t} ${output.r}"
    input "t" { from = phase.teachers.output.r }
    output "r" { path = "out/s${cell.seed}.json" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
phase "evals" {
  grid  = grid.g
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo eval ${cell.seed} >> RECORD; cp ${input.s} ${output.r}"
    input "s" { from = phase.students.output.r }
    output "r" { path = "out/e${cell.seed}.json" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
`

// slurmDetached: a whole DAG is submitted as one array per phase, held until all arrays are
// in; the cluster finishes it with muster off. A teacher that exits 0 with a truncated output
// does not release its student.
func slurmDetached(t *testing.T) { submitsAndLeaves(t, onSlurm) }

func submitsAndLeaves(t *testing.T, on func(*testing.T, string) *cluster) {
	c := on(t, strings.ReplaceAll(slurmPhases, "COUNT", "100"))
	c.count("", c.dialect.submit)
	c.must("apply", "-detach", "-auto-approve")
	sent := c.submissions()
	if len(sent) != 3 {
		t.Fatalf("%d submissions for 3 phases:\n%s", len(sent), strings.Join(sent, "\n"))
	}
	if !strings.Contains(sent[0], c.dialect.hold) {
		t.Errorf("the first phase was not held until the rest was in: %s", sent[0])
	}
	c.idle(5 * time.Minute)
	out, code := c.pass()
	if code == 0 || !strings.Contains(out, "297 of 300 jobs done and verified, 1 failed, 2 blocked") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	if !strings.Contains(out, `phase.teachers["seed=7"]`) || !strings.Contains(out, "unexpected end") {
		t.Errorf("the truncated output is not told:\n%s", out)
	}
	c.wantRan("teacher", 100)
	ran := c.ran()
	if ran["student 7"]+ran["eval 7"] != 0 || len(ran) != 298 {
		t.Errorf("%d jobs ran, among them those after the truncated output: %v", len(ran), ran["student 7"])
	}
}

const slurmPreempted = `campaign "preempted" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
phase "teacher" {
  place { candidates = [backend.slurm.lab] }
  retry {
    on           = ["preempted"]
    max_attempts = 3
  }
  job {
    command = "echo teacher begins $MUSTER_ATTEMPT >> RECORD; if [ $MUSTER_ATTEMPT = 1 ]; then sleep 300; fi; echo '{}' > ${output.r}"
    options "slurm" {
      qos        = "spare"
      constraint = "ib"
    }
    output "r" {
      path   = "out/t.json"
      verify = "json"
    }
    resources {
      cpus     = 64
      memory   = "50MiB"
      walltime = "10m"
    }
  }
}
phase "student" {
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo student >> RECORD; cp ${input.t} ${output.r}"
    input "t" { from = phase.teacher.output.r }
    output "r" { path = "out/s.json" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
`

// slurmRequeued: a job that Slurm preempts and requeues goes on under its id
// with muster off, its dependents wait for it, and both attempts are known
// afterwards.
func slurmRequeued(t *testing.T) {
	c := onSlurm(t, slurmPreempted)
	c.must("apply", "-detach", "-auto-approve")
	c.until("teacher", time.Minute, func() bool { return c.ran()["teacher begins 1"] == 1 })
	c.slurm("sbatch", "--parsable", "-q", "normal", "-C", "ib", "-c", "64", "-t", "2", "-D", c.workdir, "-o", "/dev/null", "--wrap", "sleep 1")
	c.idle(3 * time.Minute)
	if ran := c.ran(); ran["teacher begins 1"] != 1 || ran["teacher begins 2"] != 1 || ran["student"] != 1 {
		t.Errorf("ran: %v", ran)
	}
	out := c.must("apply", "-auto-approve")
	if !strings.Contains(out, "2 of 2 jobs done and verified") {
		t.Errorf("%s", out)
	}
	if out := c.must("cost"); strings.Contains(out, "not known") {
		t.Errorf("a launch that was preempted counts at its ceiling:\n%s", out)
	}
}
