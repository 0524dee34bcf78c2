package systemtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// slurmTwoShapes is a campaign of phases of 8 jobs, each of two shapes, that read one
// another: 12 arrays for 6 phases.
func slurmTwoShapes(phases string) string {
	text := "campaign \"chain\" {}\nbackend \"slurm\" \"lab\" { workdir = \"WORKDIR\" }\ngrid \"g\" { axes = { i = range(0, 8) } }\n"
	before := ""
	for _, name := range strings.Split(phases, "") {
		input := ""
		if before != "" {
			input = fmt.Sprintf("input \"t\" { from = phase.%s.output.r }", before)
		}
		text += fmt.Sprintf(`phase "%s" {
  grid = grid.g
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo %s ${cell.i} >> RECORD; echo x > ${output.r}"
    %s
    output "r" { path = "out/%s${cell.i}" }
    resources {
      memory   = cell.i < 4 ? "50MiB" : "60MiB"
      walltime = "5m"
    }
  }
}
`, name, name, input, name)
		before = name
	}
	return text
}

// written has a command print into a file, and returns what it has printed.
func written(t *testing.T, cmd *exec.Cmd) func() string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	cmd.Stdout, cmd.Stderr = f, f
	return func() string {
		text, _ := os.ReadFile(f.Name())
		return string(text)
	}
}

// slurmUnsaid: every sbatch submits and then says that its socket timed out. Each
// array is looked for and found, and the cluster runs all of it with muster off.
func slurmUnsaid(t *testing.T) {
	c := onSlurm(t, slurmTwoShapes("abcdef"))
	c.must("plan")
	real, err := exec.LookPath("sbatch")
	if err != nil {
		t.Fatal(err)
	}
	c.count(`case "$*" in *--test-only*) exec `+real+` "$@";; esac
`+real+` "$@" > /dev/null; echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2; exit 1`, "sbatch")
	if out := c.must("apply", "-detach", "-auto-approve"); !strings.Contains(out, "48 queued on slurm.lab will still start") {
		t.Errorf("%s", out)
	}
	c.idle(2 * time.Minute)
	for _, phase := range strings.Split("abcdef", "") {
		c.wantRan(phase, 8)
	}
	c.count("", "sbatch")
	if out := c.must("apply", "-auto-approve"); !strings.Contains(out, "48 of 48 jobs done and verified") {
		t.Errorf("%s", out)
	}
}

// slurmNeverSubmits: no sbatch submits. What was not submitted is not said to be
// queued, and the next pass goes on.
func slurmNeverSubmits(t *testing.T) {
	c := onSlurm(t, slurmTwoShapes("ab"))
	c.must("plan")
	c.count(`case "$*" in *--test-only*) ;; *) echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2; exit 1;; esac`, "sbatch")
	out, code := c.run("apply", "-detach", "-auto-approve")
	if code != 3 || strings.Contains(out, "will still start") || !strings.Contains(out, "Not all jobs were submitted") || !strings.Contains(out, "not submitted") {
		t.Errorf("exit %d\n%s", code, out)
	}
	c.count("", "sbatch")
	if out := c.must("apply", "-auto-approve"); !strings.Contains(out, "16 of 16 jobs done and verified") {
		t.Errorf("%s", out)
	}
	c.wantRan("a", 8)
	c.wantRan("b", 8)
}

// slurmSbatchHangs: an sbatch hangs. That is said, and who interrupts it is not
// told that its jobs are queued.
func slurmSbatchHangs(t *testing.T) {
	c := onSlurm(t, slurmTwoShapes("ab"))
	c.must("plan")
	c.count(`case "$*" in *--test-only*) ;; *) sleep 60; exit 1;; esac`, "sbatch")
	apply := c.command("apply", "-detach", "-auto-approve")
	out := written(t, apply)
	if err := apply.Start(); err != nil {
		t.Fatal(err)
	}
	c.until("word of the sbatch that hangs", time.Minute, func() bool { return strings.Contains(out(), "has not answered for 10s") })
	apply.Process.Signal(syscall.SIGINT)
	err := apply.Wait()
	if code := exitCode(err); code != 130 || strings.Contains(out(), "will still start") || !strings.Contains(out(), "16 not submitted") {
		t.Errorf("exit %d\n%s", code, out())
	}
	c.count("", "sbatch")
	if out := c.must("apply", "-auto-approve"); !strings.Contains(out, "16 of 16 jobs done and verified") {
		t.Errorf("%s", out)
	}
	c.wantRan("a", 8)
}

// slurmHeldInQueue: jobs that an administrator holds are told once by a running
// apply, and are not said to start when muster is off.
func slurmHeldInQueue(t *testing.T) {
	c := onSlurm(t, strings.ReplaceAll(slurmTwoShapes("a"), "    resources {", "    options \"slurm\" { constraint = \"ib\" }\n    resources {"))
	// They wait for the only node that would do.
	blocker := c.slurm("sbatch", "--parsable", "-C", "ib", "-c", "64", "-t", "5", "-D", c.workdir, "-o", "/dev/null", "--wrap", "sleep 300")
	open := func() { exec.Command("scancel", blocker).Run() }
	t.Cleanup(open)
	out, code := c.run("apply", "-detach", "-auto-approve")
	if code != 0 || !strings.Contains(out, "8 queued on slurm.lab will still start") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	for line := range strings.Lines(c.ours()) {
		c.slurm("scontrol", "hold", strings.Fields(line)[0])
	}
	out, code = c.run("apply", "-detach", "-auto-approve")
	if code != 3 || strings.Contains(out, "will still start") || !strings.Contains(out, "8 held in the queue") {
		t.Errorf("exit %d\n%s", code, out)
	}
	apply := c.command("apply", "-auto-approve")
	said := written(t, apply)
	if err := apply.Start(); err != nil {
		t.Fatal(err)
	}
	c.until("word of the hold", time.Minute, func() bool { return strings.Contains(said(), "and 7 more are held: by") })
	for line := range strings.Lines(c.ours()) {
		c.slurm("scontrol", "release", strings.Fields(line)[0])
	}
	open()
	if err := apply.Wait(); err != nil || !strings.Contains(said(), "8 of 8 jobs done and verified") || strings.Count(said(), "more are held: by") != 1 {
		t.Errorf("apply: %v\n%s", err, said())
	}
}
