package systemtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/program"
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

// controller is slurmctld of the lab.
func controller(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(os.Getenv("SLURM_LAB_DIR"), "run", "slurmctld.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// slurmHung: the controller hangs, sbatch gives up without a word of whether
// it has submitted, and did: nothing runs twice, nothing is lost.
func slurmHung(t *testing.T) {
	c := onSlurm(t, slurmOnce)
	c.must("plan")
	pid := controller(t)
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
	if err := os.MkdirAll(c.tools, 0o755); err != nil {
		t.Fatal(err)
	}
	real, err := exec.LookPath("sbatch")
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/bash\ncase \"$*\" in *--test-only*) exec " + real + " \"$@\";; esac\n" + real + " \"$@\" > /dev/null\n" +
		"for p in /proc/[0-9]*; do [ \"$(readlink $p/exe)\" = " + c.bin + " ] && kill -KILL ${p#/proc/}; done\n"
	program.Write(t, filepath.Join(c.tools, "sbatch"), script)
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
	if err := syscall.Kill(controller(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second)
	if up, err := exec.Command("../lab/slurm-up", os.Getenv("SLURM_LAB_DIR")).CombinedOutput(); err != nil {
		t.Fatalf("the controller does not come up again: %v\n%s", err, up)
	}
	apply.Wait()
	if !strings.Contains(out.String(), "57 of 60 jobs done and verified, 1 failed, 2 blocked") {
		t.Errorf("%s", out.String())
	}
	c.wantRan("teacher", 20)
	for name, n := range c.ran() {
		if n != 1 {
			t.Errorf("%s ran %d times", name, n)
		}
	}
}
