package systemtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const slurmOnce = `campaign "once" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
phase "jobs" {
  grid { axes = { i = range(0, 6) } }
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo job ${cell.i} >> RECORD; sleep 2; echo x > ${output.r}"
    output "r" { path = "out/${cell.i}" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
`

// slurmHung: the controller hangs, sbatch gives up without a word of whether
// it has submitted, and did: nothing runs twice, nothing is lost.
func slurmHung(t *testing.T) {
	c := onSlurm(t, slurmOnce)
	c.must("plan")
	pid := daemon(t, "slurmctld")
	c.count(`case "$*" in *--test-only*) ;; *) kill -STOP `+strconv.Itoa(pid)+`; esac`, "sbatch")
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGCONT) })
	apply := c.command("apply", "-auto-approve")
	var out strings.Builder
	apply.Stdout, apply.Stderr = &out, &out
	if err := apply.Start(); err != nil {
		t.Fatal(err)
	}
	c.until("sbatch that hangs", time.Minute, func() bool { return len(c.calls("sbatch")) > 0 && stopped(pid) })
	time.Sleep(25 * time.Second) // MessageTimeout, after which sbatch gives up
	c.count("", "sbatch")
	syscall.Kill(pid, syscall.SIGCONT)
	if err := apply.Wait(); err != nil || !strings.Contains(out.String(), "6 of 6 jobs done and verified") {
		t.Errorf("apply: %v\n%s", err, out.String())
	}
	c.wantRan("job", 6)
}

func stopped(pid int) bool { return state(filepath.Join("/proc", strconv.Itoa(pid))) == "T" }

// slurmKilled: muster is killed when sbatch has submitted and before it could
// take note of the id.
func slurmKilled(t *testing.T) {
	c := onSlurm(t, slurmOnce)
	c.must("plan")
	// The sbatch ends the engine and its provider when it has done its work.
	real, err := exec.LookPath("sbatch")
	if err != nil {
		t.Fatal(err)
	}
	c.count("case \"$*\" in *--test-only*) exec "+real+" \"$@\";; esac\n"+real+" \"$@\" > /dev/null\n"+c.killMuster()+"; exit 1", "sbatch")
	if out, code := c.run("apply", "-auto-approve"); code == 0 {
		t.Fatalf("muster was not killed:\n%s", out)
	}
	os.RemoveAll(c.tools)
	c.count("", "sbatch")
	out := c.must("apply", "-auto-approve")
	if !strings.Contains(out, "6 of 6 jobs done and verified") {
		t.Errorf("%s", out)
	}
	for _, call := range c.calls("sbatch") {
		if !strings.Contains(call, "--test-only") {
			t.Errorf("what Slurm had was submitted again: %s", call)
		}
	}
	c.wantRan("job", 6)
}

// killMuster is a piece of shell that kills all of this world's muster, at once: an engine whose
// provider dies first ends the commands of that provider, of which this is one.
func (c *cluster) killMuster() string {
	return "muster=; for p in /proc/[0-9]*; do [ \"$(readlink $p/exe)\" = " + c.bin + " ] && muster=\"$muster ${p#/proc/}\"; done; kill -KILL $muster"
}

const slurmFamilies = `campaign "families" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
phase "teachers" {
  grid { axes = { seed = range(0, 3) } }
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo teacher ${cell.seed} >> RECORD; sleep 2; test ${cell.seed} != 1 && echo x > ${output.r}"
    output "r" { path = "out/t${cell.seed}" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
phase "students" {
  grid { axes = { seed = range(0, 3), n = range(0, 4) } }
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo student $((${cell.seed} * 4 + ${cell.n})) >> RECORD; cat ${input.t} > ${output.r}"
    input "t" { from = phase.teachers.output.r }
    output "r" { path = "out/s${cell.seed}-${cell.n}" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
`

// slurmKilledUntold: muster is killed when Slurm has the students and has not
// been told yet which teacher each of them comes after. The next one tells it,
// so that a teacher that fails keeps only its own students back.
func slurmKilledUntold(t *testing.T) {
	c := onSlurm(t, slurmFamilies)
	c.must("plan")
	c.count("[ \"$1\" != update ] || { sleep 1; "+c.killMuster()+"; exit 1; }", "scontrol")
	if out, code := c.run("apply", "-detach", "-auto-approve"); code == 0 {
		t.Fatalf("muster was not killed:\n%s", out)
	}
	if len(c.calls("scontrol update")) != 1 || len(c.ran()) != 0 {
		t.Fatalf("it was killed too late: %q, ran %v", c.calls("scontrol"), c.ran())
	}
	c.count("", "scontrol", "sbatch")
	c.must("apply", "-detach", "-auto-approve")
	c.idle(2 * time.Minute)
	out, _ := c.pass()
	if !strings.Contains(out, "10 of 15 jobs done and verified, 1 failed, 4 blocked") {
		t.Errorf("%s", out)
	}
	for _, call := range c.calls("sbatch") {
		if strings.HasSuffix(call, ".sh") {
			t.Errorf("what Slurm had was submitted again: %s", call)
		}
	}
	c.wantRan("teacher", 3)
	for n := range 12 {
		want := 1
		if n/4 == 1 {
			want = 0
		}
		if key := fmt.Sprintf("student %d", n); c.ran()[key] != want {
			t.Errorf("%s ran %d times, want %d", key, c.ran()[key], want)
		}
	}
}

// slurmRestarted: slurmctld is killed and started again under a campaign.
func slurmRestarted(t *testing.T) {
	c := onSlurm(t, strings.ReplaceAll(slurmPhases, "COUNT", "20"))
	apply := c.command("apply", "-auto-approve")
	var out strings.Builder
	apply.Stdout, apply.Stderr = &out, &out
	if err := apply.Start(); err != nil {
		t.Fatal(err)
	}
	c.until("first jobs", 2*time.Minute, func() bool { return len(c.ran()) >= 3 })
	time.Sleep(6 * time.Second) // it saves its state every five seconds
	killDaemon(t, "slurmctld")
	time.Sleep(3 * time.Second)
	if up, err := exec.Command("../lab/slurm-up", os.Getenv("SLURM_LAB_DIR")).CombinedOutput(); err != nil {
		t.Fatalf("the controller does not come up again: %v\n%s", err, up)
	}
	apply.Wait()
	if !strings.Contains(out.String(), "57 of 60 jobs done and verified, 1 failed, 2 blocked") {
		t.Errorf("%s\n%s", out.String(), c.seen())
	}
	c.wantRan("teacher", 20)
	for name, n := range c.ran() {
		if n != 1 {
			t.Errorf("%s ran %d times", name, n)
		}
	}
}
