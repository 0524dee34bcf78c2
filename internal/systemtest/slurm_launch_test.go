package systemtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/program"
)

// slurmProlog is the program that the lab's nodes run before each job: it waits
// while there is a file wait-NODE below dir, and fails on a node with a file
// unfit-NODE. SLURMD_NODENAME: slurm.conf(5), Prolog.
func slurmProlog(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "prolog")
	program.Write(t, path, "#!/bin/sh\nwhile [ -e "+dir+"/wait-$SLURMD_NODENAME ]; do sleep 0.1; done\n[ ! -e "+dir+"/unfit-$SLURMD_NODENAME ]\n")
	return "\nProlog=" + path
}

// unfit lets the prolog fail on a node, from the call of fail until that of repair, which puts
// the node back in service. The first job whose prolog fails takes the node out of service, so
// all jobs that are to fail must be there by then.
func (c *cluster) unfit(node string) (fail, repair func()) {
	c.t.Helper()
	var dir string
	for line := range strings.Lines(c.slurm("scontrol", "show", "config")) {
		if name, path, ok := strings.Cut(line, "="); ok && strings.TrimSpace(name) == "Prolog" {
			dir = filepath.Dir(strings.TrimSpace(path))
		}
	}
	if !filepath.IsAbs(dir) {
		c.t.Fatal("the cluster that SLURM_LAB_DIR names has no prolog of this test's: unset it, and the test brings up one that has")
	}
	wait, mark := filepath.Join(dir, "wait-"+node), filepath.Join(dir, "unfit-"+node)
	for _, path := range []string{wait, mark} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	fail = func() { os.Remove(wait) }
	repair = func() {
		fail()
		if os.Remove(mark) == nil {
			exec.Command("scontrol", "update", "NodeName="+node, "State=RESUME").Run()
		}
	}
	c.t.Cleanup(repair)
	return fail, repair
}

const slurmUnlaunched = `campaign "launch" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
phase "once" {
  place { candidates = [backend.slurm.lab] }
  retry {
    on           = ["oom"]
    max_attempts = 1
  }
  job {
    command = "echo once >> RECORD"
    options "slurm" { extra = ["--nodelist=cpu1"] }
    resources {
      memory   = "50MiB"
      walltime = "10m"
    }
  }
}
phase "retry" {
  place { candidates = [backend.slurm.lab] }
  retry {
    on           = ["oom"]
    max_attempts = 2
  }
  job {
    command = "echo retry >> RECORD"
    options "slurm" { extra = ["--prefer=ib"] }
    resources {
      memory   = "50MiB"
      walltime = "10m"
    }
  }
}
`

// slurmNotLaunched: jobs whose node cannot be made ready. One that may not be
// requeued is a node's failure, and nobody cancelled it; one that Slurm holds is
// let go to another node, and runs once.
func slurmNotLaunched(t *testing.T) {
	c := onSlurm(t, slurmUnlaunched)
	fail, repair := c.unfit("cpu1")
	c.must("apply", "-detach", "-auto-approve")
	c.until("both on the node", time.Minute, func() bool { return strings.Count(c.slurm("squeue", "-h", "-o", "%N"), "cpu1") == 2 })
	fail()
	c.until("failed prologs", time.Minute, func() bool {
		queue := c.slurm("squeue", "-h", "-o", "%j %r")
		return strings.Contains(queue, "launch failed") && !strings.Contains(queue, "once.")
	})
	c.until("word of both", time.Minute, func() bool {
		s := c.phaseJobs()
		return s["once"].Class == "node_failure" && strings.Contains(s["once"].Reason, "cpu1 could not be prepared") &&
			s["retry"].Status == "queued" && strings.Contains(s["retry"].Reason, "lets it go to another one")
	})
	out, _ := c.run("apply", "-auto-approve")
	repair()
	if ran := c.ran(); ran["retry"] != 1 || ran["once"] != 0 {
		t.Errorf("ran: %v\n%s", ran, out)
	}
	if !strings.Contains(out, "1 of 2 jobs done and verified, 1 failed") {
		t.Errorf("%s", out)
	}
	if out := c.must("cost"); strings.Contains(out, "not known") {
		t.Errorf("what never ran is paid for:\n%s", out)
	}
}

const slurmDying = `campaign "dying" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
phase "a" {
  place { candidates = [backend.slurm.lab] }
  retry {
    on           = ["node_failure"]
    max_attempts = 2
  }
  job {
    command = "echo a $MUSTER_ATTEMPT >> RECORD; [ $MUSTER_ATTEMPT != 1 ] || sleep 600"
    options "slurm" { constraint = "ib" }
    resources {
      memory   = "50MiB"
      walltime = "30m"
    }
  }
}
`

// slurmNodeDies: a node's power goes with muster off, and only its row in
// accounting is left of the launch: the ledger has that.
func slurmNodeDies(t *testing.T) {
	c := onSlurm(t, slurmDying)
	c.must("apply", "-detach", "-auto-approve")
	c.until("first launch", time.Minute, func() bool { return c.ran()["a 1"] == 1 })
	t.Cleanup(func() { exec.Command("../lab/slurm-node", "start", "cpu1").Run() })
	c.slurm("../lab/slurm-node", "crash", "cpu1")
	c.until("word of the controller", 3*time.Minute, func() bool { return strings.Contains(c.ours(), " PENDING ") })
	c.slurm("../lab/slurm-node", "start", "cpu1")
	c.idle(3 * time.Minute)
	if out := c.must("apply", "-auto-approve"); !strings.Contains(out, "1 of 1 jobs done and verified") || !strings.Contains(out, "node_failure") {
		t.Errorf("%s", out)
	}
	var job struct {
		Attempts []struct {
			Class string
			Usage struct{ Elapsed float64 }
		}
	}
	if err := json.Unmarshal([]byte(c.must("state", "show", "-json", "phase.a")), &job); err != nil || len(job.Attempts) != 2 {
		t.Fatalf("%+v, %v", job, err)
	}
	if a := job.Attempts[0]; a.Class != "node_failure" || a.Usage.Elapsed < 1 || a.Usage.Elapsed > 600 {
		t.Errorf("the launch that the node took down: %+v", a)
	}
	if out := c.must("cost"); strings.Contains(out, "not known") {
		t.Errorf("it counts at its ceiling:\n%s", out)
	}
}

const slurmFilling = `campaign "filling" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
grid "g" { axes = { seed = range(0, 6) } }
phase "a" {
  grid         = grid.g
  max_parallel = 1
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo a ${cell.seed} >> RECORD; [ ${cell.seed} != 1 ] || cat /dev/zero > WORKDIR/big"
    resources {
      memory   = "256MiB" # more than the volume: what is written to a tmpfs counts
      walltime = "10m"
    }
  }
}
`

// slurmFull: a job fills the volume with muster off. It fails; the rest of its
// array does not begin, and does when there is room, having lost nothing.
func slurmFull(t *testing.T) {
	c := onSlurm(t, slurmFilling)
	if err := unix.Mount("muster-test", c.workdir, "tmpfs", 0, "size=100m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(c.workdir, unix.MNT_DETACH) })
	c.must("apply", "-detach", "-auto-approve")
	c.until("array that waits for room", 2*time.Minute, func() bool {
		return strings.Count(c.slurm("squeue", "-h", "-r", "-o", "%Z %r"), c.workdir+" BeginTime") == 4
	})
	if out := c.must("status", "-refresh"); strings.Contains(out, "unknown  phase") {
		t.Errorf("a spool on a full disk cannot be read:\n%s", out)
	}
	if err := os.Remove(filepath.Join(c.workdir, "big")); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(c.ours()) { // and not five minutes later
		c.slurm("scontrol", "update", "JobId="+strings.Fields(line)[0], "StartTime=now")
	}
	c.idle(2 * time.Minute)
	out, _ := c.pass()
	if !strings.Contains(out, "5 of 6 jobs done and verified, 1 failed") || !strings.Contains(out, "disk_full") {
		t.Errorf("%s", out)
	}
	c.wantRan("a", 6)
}
