package systemtest

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// slurmTwice is two jobs, and two after each of them.
const slurmTwice = `campaign "forgets" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
phase "told" {
  grid { axes = { i = range(0, 2) } }
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo job ${cell.i} >> RECORD; echo x > ${output.r}"
    output "r" { path = "out/t${cell.i}" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
phase "unheard" {
  grid {
    axes = {
      i = range(0, 2)
      k = range(0, 2)
    }
  }
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo job ${2 + 2 * cell.i + cell.k} >> RECORD; cp ${input.t} ${output.r}"
    input "t" { from = phase.told.output.r }
    output "r" { path = "out/u${cell.i}${cell.k}" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
`

// slurmReleaseForgotten: the controller is killed before it has saved that what
// it was handed was let go. The next pass lets it go again, and it runs once.
func slurmReleaseForgotten(t *testing.T) {
	c := onSlurm(t, slurmTwice)
	state, saved := jobState(), filepath.Join(c.workdir, "job_state")
	// What the controller has saved with all of it in, and nothing let go. What it
	// lets go after that does not start.
	c.count(fmt.Sprintf(`case "$1" in release)
  until grep -qa 'unheard\.' %[1]s; do sleep 0.1; done
  cp %[1]s %[2]s
  PATH=${PATH#*:} scontrol update nodename=cpu1,cpu2 state=drain reason=test;;
esac`, state, saved), "scontrol")
	resume := func() { exec.Command("scontrol", "update", "nodename=cpu1,cpu2", "state=resume").Run() }
	t.Cleanup(func() {
		repair(t)
		resume()
	})
	c.must("apply", "-detach", "-auto-approve")
	c.count("", "scontrol")
	if got := c.reasons(); strings.Contains(got, "JobHeldUser") {
		t.Fatalf("it is not let go: %s", got)
	}
	text, err := os.ReadFile(saved)
	if err != nil {
		t.Fatal(err)
	}
	c.forget(text)
	resume()
	if got := c.reasons(); strings.Count(got, "JobHeldUser") != 6 {
		t.Fatalf("the controller has not forgotten it: %q", got)
	}
	if out := c.must("status", "-refresh", "-verbose"); !strings.Contains(strings.Join(strings.Fields(out), " "), "slurmctld was killed, and has forgotten that it was let go") {
		t.Errorf("status does not say what it waits for\n%s", out)
	}
	if out, code := c.pass(); code != 0 {
		t.Errorf("exit %d\n%s", code, out)
	}
	c.idle(2 * time.Minute)
	c.wantRan("job", 6)
	if out := c.must("apply", "-auto-approve"); !strings.Contains(out, "6 of 6 jobs done and verified") {
		t.Errorf("%s", out)
	}
}

// reasons is why what waits of this world's jobs waits.
func (c *cluster) reasons() string {
	out, _ := exec.Command("squeue", "-h", "-r", "-t", "PENDING", "-o", "%Z %r").Output()
	var mine []string
	for line := range strings.Lines(string(out)) {
		if reason, ok := strings.CutPrefix(strings.TrimSpace(line), c.workdir+" "); ok {
			mine = append(mine, reason)
		}
	}
	return strings.Join(mine, "\n")
}

// slurmLimited is an array whose jobs wait for a word.
const slurmLimited = `campaign "limited" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
phase "a" {
  grid { axes = { i = range(0, 6) } }
  max_parallel = 2
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo job ${cell.i} >> RECORD; until [ -e WORKDIR/go ]; do sleep 0.1; done"
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
`

// saved is the controller's saved state of its jobs, once it has saved all changes
// before now. It saves only after a change, and may have done so already: a mark
// on a job is a change, and shows in the state saved after it.
func (c *cluster) saved() []byte {
	c.t.Helper()
	mark := "saved-" + rand.Text()
	runs, _, _ := strings.Cut(c.ours(), " RUNNING ") // one that waits would leave its array's record
	c.slurm("scontrol", "update", "JobId="+runs[strings.LastIndexByte(runs, '\n')+1:], "AdminComment="+mark)
	var text []byte
	c.until("saved state", untilSaved, func() bool {
		text, _ = os.ReadFile(jobState())
		return bytes.Contains(text, []byte(mark))
	})
	return text
}

// untilSaved ends a wait for a controller that will never save.
const untilSaved = 15 * time.Minute

func jobState() string { return filepath.Join(os.Getenv("SLURM_LAB_DIR"), "state", "job_state") }

// forget kills the controller, and has it come back with what it had saved.
func (c *cluster) forget(saved []byte) {
	c.t.Helper()
	killDaemon(c.t, "slurmctld")
	for _, f := range []string{jobState(), jobState() + ".old"} {
		if err := os.WriteFile(f, saved, 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	repair(c.t)
}

// slurmThrottleForgotten: the controller is killed before it has saved how many
// of an array may run now. The next pass tells it again.
func slurmThrottleForgotten(t *testing.T) {
	c := onSlurm(t, slurmLimited)
	t.Cleanup(func() { repair(t) })
	c.must("apply", "-detach", "-auto-approve")
	throttle := func() string {
		for line := range strings.Lines(c.slurm("squeue", "-h", "-t", "PENDING", "-o", "%Z %K")) {
			if list, ok := strings.CutPrefix(strings.TrimSpace(line), c.workdir+" "); ok {
				return list
			}
		}
		return ""
	}
	c.until("two that run", time.Minute, func() bool { return len(c.ran()) == 2 })
	if got := throttle(); got != "2-5%2" {
		t.Fatalf("it is submitted as %s", got)
	}
	saved := c.saved()
	c.write("campaign.muster.hcl", strings.Replace(c.campaign(), "max_parallel = 2", "max_parallel = 1", 1))
	c.pass() // not all is done
	if got := throttle(); got != "2-5%1" {
		t.Fatalf("another limit is not told: %s", got)
	}
	c.forget(saved)
	if got := throttle(); got != "2-5%2" {
		t.Fatalf("the controller has not forgotten it: %s", got)
	}
	out, _ := c.pass()
	if got := throttle(); got != "2-5%1" {
		t.Errorf("after the next pass it is %s\n%s", got, out)
	}
	if err := os.WriteFile(filepath.Join(c.workdir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.idle(6 * time.Minute) // one after another, and a busy machine starts one in most of a minute
	c.wantRan("job", 6)
}

// slurmCancelForgotten: the controller is killed before it has saved that jobs were
// cancelled. Who cancels them again is told that they were still there.
func slurmCancelForgotten(t *testing.T) {
	c := onSlurm(t, slurmLimited)
	t.Cleanup(func() { repair(t) })
	c.must("apply", "-detach", "-auto-approve")
	c.until("two that run", time.Minute, func() bool { return len(c.ran()) == 2 })
	c.must("hold") // so that no more of them start
	saved := c.saved()
	c.must("cancel", "phase.a")
	c.idle(time.Minute)
	c.forget(saved)
	if got := c.reasons(); strings.Count(got, "JobHeld") != 4 {
		t.Fatalf("the controller has not forgotten it: %q", got)
	}
	if out := c.must("cancel", "phase.a"); !strings.Contains(out, "nothing to cancel") && !strings.Contains(out, "Nothing to cancel") || !strings.Contains(out, "still in Slurm's queue") {
		t.Errorf("what was taken out of the queue is not told: %s", out)
	}
	if got := c.reasons(); strings.Contains(got, "JobHeld") {
		t.Errorf("they are there still: %q", got)
	}
}
