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

// once is a piece of shell that runs what follows it the first time only.
func (c *cluster) once(do string) string {
	return fmt.Sprintf(`case "$*" in *--test-only*) ;; *) if mkdir %s/done 2>/dev/null; then %s; fi;; esac`, c.tools, do)
}

// begin starts muster and returns what waits for its end.
func (c *cluster) begin(args ...string) (wait func() (string, error)) {
	c.t.Helper()
	cmd := c.command(args...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return func() (string, error) {
		err := cmd.Wait()
		return out.String(), err
	}
}

// daemon is the process of one of the lab's daemons.
func daemon(t *testing.T, name string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(os.Getenv("SLURM_LAB_DIR"), "run", name+".pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// killDaemon kills a daemon of the lab and waits for its end: one that is being
// killed in the middle of an fsync is alive for as long as that takes, and repair
// would leave it alone.
func killDaemon(t *testing.T, name string) {
	t.Helper()
	pid := daemon(t, name)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(2 * time.Minute); state(fmt.Sprintf("/proc/%d", pid)) != "Z"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not end", name)
		}
	}
}

// repair starts what is dead of the lab.
func repair(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("../lab/slurm-up", os.Getenv("SLURM_LAB_DIR")).CombinedOutput(); err != nil {
		t.Fatalf("the cluster does not come up again: %v\n%s", err, out)
	}
}

// wantSix wants all six jobs done, each run once by its own record, and by
// accounting, too.
func (c *cluster) wantSix(out string, err error) {
	c.t.Helper()
	c.wantSixDone(out, err)
	var rows map[string][]string
	defer func() {
		if c.t.Failed() {
			c.t.Logf("accounting: %v", rows)
		}
	}()
	completed := func() (n int) {
		for _, states := range rows {
			for _, s := range states {
				if s == "COMPLETED" {
					n++
				}
			}
		}
		return n
	}
	c.until("six rows in accounting", time.Minute, func() bool { rows, _ = c.accounted(); return completed() >= 6 })
	if n := completed(); n != 6 {
		c.t.Errorf("accounting has %d elements that completed, 6 should have", n)
	}
}

func (c *cluster) wantSixDone(out string, err error) {
	c.t.Helper()
	if err != nil || !strings.Contains(out, "6 of 6 jobs done and verified") {
		c.t.Errorf("apply: %v\n%s", err, out)
	}
	c.wantRan("job", 6)
}

// accounted is accounting's record of this campaign: the state of each launch,
// by element.
func (c *cluster) accounted() (map[string][]string, error) {
	out, err := exec.Command("sacct", "-n", "-P", "-X", "-D", "-S", "now-1hours", "-o", "JobID,State,WorkDir").Output()
	rows := map[string][]string{}
	for row := range strings.Lines(string(out)) {
		if f := strings.SplitN(strings.TrimSpace(row), "|", 3); len(f) == 3 && f[2] == c.workdir {
			rows[f[0]] = append(rows[f[0]], f[1])
		}
	}
	return rows, err
}

// slurmSbatchKilled: sbatch is killed while the controller, which it has asked
// already, does not answer.
func slurmSbatchKilled(t *testing.T) {
	c := onSlurm(t, slurmOnce)
	pid := daemon(t, "slurmctld")
	real, err := exec.LookPath("sbatch")
	if err != nil {
		t.Fatal(err)
	}
	c.count(c.once(fmt.Sprintf("kill -STOP %d; %s \"$@\" & sleep 3; kill -KILL $!; exit 137", pid, real)), "sbatch")
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGCONT) })
	wait := c.begin("apply", "-auto-approve")
	c.until("sbatch that hangs", time.Minute, func() bool { return stopped(pid) })
	time.Sleep(10 * time.Second) // the sbatch is dead by then, and muster knows
	syscall.Kill(pid, syscall.SIGCONT)
	c.wantSix(wait())
}

// slurmNotSubmitted: each sbatch is killed before it has asked the controller. When the next
// muster comes it is certain that Slurm has nothing of it: the jobs are submitted once, from
// the spool or by a new submission, and not by both.
func slurmNotSubmitted(t *testing.T) {
	c := onSlurm(t, slurmOnce)
	c.count(`case "$*" in *--test-only*) ;; *) kill -KILL $$; esac`, "sbatch")
	out, _ := c.run("apply", "-detach", "-auto-approve")
	if !strings.Contains(out, "sbatch did not finish") {
		t.Fatalf("no sbatch was killed:\n%s", out)
	}
	// That was an hour ago, not within the time that what is late may take.
	for _, note := range []string{"tried", "failed"} {
		paths, err := filepath.Glob(filepath.Join(c.workdir, ".muster", "slurm", "*", "batches", "*", note))
		if err != nil || len(paths) > 1 {
			t.Fatalf("notes of %s: %q, %v", note, paths, err)
		}
		for _, path := range paths {
			if err := os.WriteFile(path, []byte(time.Now().Add(-time.Hour).Format(time.RFC3339Nano)+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.count("", "sbatch")
	c.must("hold")
	c.must("resume")
	c.wantSix(c.run0("apply", "-auto-approve"))
	c.idle(time.Minute)
	if n := len(c.ran()); n != 6 {
		t.Errorf("%d jobs ran, 6 were to", n)
	}
	c.wantRan("job", 6)
}

// slurmSbatchLies: sbatch fails, and has submitted.
func slurmSbatchLies(t *testing.T) {
	c := onSlurm(t, slurmOnce)
	real, err := exec.LookPath("sbatch")
	if err != nil {
		t.Fatal(err)
	}
	c.count(c.once(real+` "$@" > /dev/null; echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2; exit 1`), "sbatch")
	c.wantSix(c.run0("apply", "-auto-approve"))
	sent := 0
	for _, call := range c.calls("sbatch") {
		if strings.HasSuffix(call, ".sh") {
			sent++
		}
	}
	if sent != 1 {
		t.Errorf("what Slurm had was submitted again:\n%s", strings.Join(c.calls("sbatch"), "\n"))
	}
}

// slurmSentTwice: Slurm has an array twice, as a lost sbatch that was sent again
// may leave it. Of each job one element runs, of whichever array.
func slurmSentTwice(t *testing.T) {
	c := onSlurm(t, slurmOnce)
	real, err := exec.LookPath("sbatch")
	if err != nil {
		t.Fatal(err)
	}
	c.count(c.once(real+` "$@" > /dev/null`), "sbatch")
	c.wantSix(c.run0("apply", "-auto-approve"))
}

func (c *cluster) run0(args ...string) (string, error) {
	c.t.Helper()
	out, err := c.command(args...).CombinedOutput()
	return string(out), err
}

// slurmNoMunge: munge is dead when the jobs are submitted, and later again
// while they run.
func slurmNoMunge(t *testing.T) {
	c := onSlurm(t, slurmOnce)
	end := func() { syscall.Kill(daemon(t, "munged"), syscall.SIGTERM) }
	t.Cleanup(func() { repair(t) })
	c.count(c.once(fmt.Sprintf("kill %d; sleep 1", daemon(t, "munged"))), "sbatch")
	wait := c.begin("apply", "-auto-approve")
	c.until("first sbatch", time.Minute, func() bool { return len(c.calls("sbatch")) > 0 && exists(filepath.Join(c.tools, "done")) })
	time.Sleep(5 * time.Second)
	repair(t)
	c.until("first job", 3*time.Minute, func() bool { return len(c.ran()) > 0 })
	end()
	time.Sleep(5 * time.Second)
	repair(t)
	c.wantSix(wait())
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// slurmNoAccounting: slurmdbd is dead all the while. What ran is known from its
// own record, what was cancelled is not called failed.
func slurmNoAccounting(t *testing.T) {
	c := onSlurm(t, slurmOnce)
	t.Cleanup(func() { repair(t) })
	c.must("plan") // facts are asked for while it lives
	c.must("apply", "-detach", "-auto-approve")
	killDaemon(t, "slurmdbd")
	out, err := c.run0("apply", "-auto-approve")
	repair(t)
	c.wantSixDone(out, err)
	// What a killed slurmdbd was being told may be missing for ever (sacctmgr(1),
	// "runawayjobs"); what it has shows that nothing ran twice.
	var rows map[string][]string
	c.until("accounting that answers", time.Minute, func() bool { rows, err = c.accounted(); return err == nil && len(rows) > 0 })
	for element, states := range rows {
		if len(states) != 1 || states[0] != "COMPLETED" && states[0] != "RUNNING" && states[0] != "PENDING" {
			t.Errorf("accounting has %q of %s", states, element)
		}
	}
	if len(rows) > 6 {
		t.Errorf("accounting has %d elements, 6 were submitted: %v", len(rows), rows)
	}
}

// slurmHungLong: the controller hangs for longer than any command waits for
// it, while jobs run and end.
func slurmHungLong(t *testing.T) {
	c := onSlurm(t, slurmOnce)
	pid := daemon(t, "slurmctld")
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGCONT) })
	wait := c.begin("apply", "-auto-approve")
	c.until("first job", time.Minute, func() bool { return len(c.ran()) > 0 })
	syscall.Kill(pid, syscall.SIGSTOP)
	out, code := c.run("status", "-refresh") // it takes as long as a command waits
	if code != 0 || strings.Contains(out, "failed") || strings.Contains(out, "cancelled") {
		t.Errorf("a controller that hangs: exit %d\n%s", code, out)
	}
	time.Sleep(60 * time.Second)
	syscall.Kill(pid, syscall.SIGCONT)
	out, err := wait()
	if strings.Contains(out, "failed") {
		t.Errorf("%s", out)
	}
	c.wantSix(out, err)
}

// slurmForgotten: the controller has lost its state and gives the ids out
// again, to others. Theirs are left alone, and what is lost of ours runs again.
func slurmForgotten(t *testing.T) {
	c := onSlurm(t, strings.ReplaceAll(slurmOnce, "sleep 2;", "[ -e WORKDIR/go ] || sleep 600;"))
	c.must("apply", "-detach", "-auto-approve")
	c.until("jobs", time.Minute, func() bool { return len(c.ran()) == 6 })
	id := strings.Split(c.id("jobs"), "_")[0]
	lab := os.Getenv("SLURM_LAB_DIR")
	conf := filepath.Join(lab, "etc", "slurm.conf")
	before, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	killDaemon(t, "slurmctld")
	lost, err := filepath.Glob(filepath.Join(lab, "state", "job_state*"))
	if err != nil || len(lost) == 0 {
		t.Fatalf("%v, %v", lost, err)
	}
	for _, f := range lost {
		os.Remove(f)
	}
	if err := os.WriteFile(conf, append(before, "\nFirstJobId="+id+"\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	slurmctld := exec.Command("slurmctld")
	if out, err := slurmctld.CombinedOutput(); err != nil {
		t.Fatalf("slurmctld: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		os.WriteFile(conf, before, 0o644)
		repair(t)
	})
	c.until("controller", time.Minute, func() bool { return exec.Command("scontrol", "ping").Run() == nil })
	// A node that registers is told to end jobs without a record. Slurm applies that to a job
	// that has got such an id since, and, as it counts whole seconds, to one that starts within
	// the second after: slurmd logs "already killed, do not launch batch job".
	c.until("end of jobs without a record", 2*time.Minute, func() bool {
		return exec.Command("pgrep", "-f", c.workdir).Run() != nil
	})
	time.Sleep(2 * time.Second)
	neighbour := c.slurm("sbatch", "--parsable", "-J", "neighbour", "-a", "0-5", "-t", "9", "-D", "/tmp", "-o", "/dev/null", "--wrap", "sleep 500")
	t.Cleanup(func() { exec.Command("scancel", neighbour).Run() })
	if neighbour != id {
		t.Fatalf("the neighbour got id %s, ours was %s", neighbour, id)
	}
	if err := os.WriteFile(filepath.Join(c.workdir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	// Infrastructure took them: they are held, and go on when a person says so.
	out, _ := c.run("apply", "-auto-approve")
	if !strings.Contains(out, "6 of 6") {
		c.must("resume")
		out = c.must("apply", "-auto-approve")
	}
	if !strings.Contains(out, "6 of 6 jobs done and verified") {
		t.Errorf("%s", out)
	}
	for line, n := range c.ran() {
		if n > 2 {
			t.Errorf("%s ran %d times", line, n)
		}
	}
	if got := c.slurm("squeue", "-h", "-r", "-j", neighbour, "-o", "%T"); strings.Count(got, "RUNNING")+strings.Count(got, "PENDING") != 6 {
		ended, _ := exec.Command("sacct", "-n", "-P", "-X", "-j", neighbour, "-o", "JobID,JobIDRaw,State,ExitCode,Start,End").CombinedOutput()
		t.Errorf("the neighbour's jobs are %q; accounting has\n%s%s", got, ended, c.seen())
	}
}
