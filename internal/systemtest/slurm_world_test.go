package systemtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/program"
)

// A cluster is a world whose jobs run on a scheduler.
type cluster struct {
	*world
	workdir string
	tools   string // where the scheduler's commands are counted
	dialect dialect
}

// A dialect is how tests speak to a scheduler.
type dialect struct {
	submit, hold string                           // its command, and the option for a job that is held
	cancel       string                           // its command
	commands     []string                         // all that muster runs of it
	neighbour    func(c *cluster) string          // submits another's job; its id
	alive        func(c *cluster, id string) bool // it waits or runs
	queue        func(c *cluster) string          // this world's jobs, an id first in each line
	queues       [2]string                        // for tests, and for production
	directives   []string                         // for both, and of an array of which five run at once
}

var slurmWords = dialect{
	submit: "sbatch", hold: "--hold", cancel: "scancel",
	commands: []string{"sbatch", "squeue", "sacct", "scontrol", "sinfo", "sacctmgr", "scancel"},
	neighbour: func(c *cluster) string {
		return c.tell("sbatch", "--parsable", "-J", "link0.neighbour", "-t", "9", "-D", "/tmp", "-o", "/dev/null", "--wrap", "sleep 300")
	},
	alive: func(c *cluster, id string) bool {
		return strings.Contains("RUNNING PENDING", c.tell("squeue", "-h", "-j", id, "-o", "%T"))
	},
	queue:      squeue,
	queues:     [2]string{"atesting_a100", "aa100"},
	directives: []string{"#SBATCH --partition=atesting_a100", "#SBATCH --partition=aa100", "#SBATCH --array=", "%5"},
}

// onSlurm makes a world; in the campaign WORKDIR and RECORD are its own.
func onSlurm(t *testing.T, campaign string) *cluster {
	t.Helper()
	workdir := sharedDir(t)
	w := newWorld(t, strings.ReplaceAll(campaign, "WORKDIR", workdir))
	c := &cluster{world: w, workdir: workdir, tools: filepath.Join(workdir, "tools"), dialect: slurmWords}
	t.Cleanup(c.clear)
	return c
}

// count puts commands on PATH that note each call, and run more before it.
func (c *cluster) count(before string, commands ...string) {
	c.t.Helper()
	if err := os.MkdirAll(c.tools, 0o755); err != nil {
		c.t.Fatal(err)
	}
	for _, name := range commands {
		real, err := exec.LookPath(name)
		if err != nil {
			c.t.Fatal(err)
		}
		text := fmt.Sprintf("#!/bin/bash\necho \"%s $*\" >> %s/calls\n%s\nexec %s \"$@\"\n", name, c.tools, before, real)
		program.Write(c.t, filepath.Join(c.tools, name), text)
	}
}

// calls are the calls noted of a command.
func (c *cluster) calls(name string) (list []string) {
	text, _ := os.ReadFile(filepath.Join(c.tools, "calls"))
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, name+" ") {
			list = append(list, strings.TrimSpace(line))
		}
	}
	return list
}

func (c *cluster) command(args ...string) *exec.Cmd {
	cmd := c.world.command(args...)
	cmd.Env = append(cmd.Env, "PATH="+c.tools+":"+os.Getenv("PATH"))
	return cmd
}

func (c *cluster) run(args ...string) (string, int) {
	c.t.Helper()
	out, err := c.command(args...).CombinedOutput()
	return string(out), exitCode(err)
}

// pass makes one pass of an apply; again, where it says that the scheduler, on a busy machine,
// was not quick enough to answer or to take an order.
func (c *cluster) pass() (out string, code int) {
	c.t.Helper()
	for range 5 {
		if out, code = c.run("apply", "-once", "-auto-approve"); !strings.Contains(out, "cannot be asked") && !strings.Contains(out, "did not take") {
			break
		}
	}
	return out, code
}

// must is run for a command that has to do well.
func (c *cluster) must(args ...string) string {
	c.t.Helper()
	out, code := c.run(args...)
	if code != 0 {
		c.t.Fatalf("muster %s: exit %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// slurm runs one of Slurm's commands and returns what it printed.
func (c *cluster) slurm(name string, args ...string) string { return c.tell(name, args...) }

// tell runs a command of the scheduler and returns what it printed.
func (c *cluster) tell(name string, args ...string) string {
	c.t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// submissions are the calls noted that submitted a script of muster's.
func (c *cluster) submissions() (list []string) {
	for _, call := range c.calls(c.dialect.submit) {
		if strings.HasSuffix(call, ".sh") && !strings.Contains(call, "--test-only") {
			list = append(list, call)
		}
	}
	return list
}

// ours is the scheduler's list of this world's jobs.
func (c *cluster) ours() string { return c.dialect.queue(c) }

func squeue(c *cluster) string {
	out, _ := exec.Command("squeue", "-h", "-r", "-o", "%i %T %Z %j").Output()
	var mine []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, c.workdir) {
			mine = append(mine, strings.TrimSpace(line))
		}
	}
	return strings.Join(mine, "\n")
}

// until waits for what the cluster does by itself.
func (c *cluster) until(what string, limit time.Duration, done func() bool) {
	c.t.Helper()
	for end := time.Now().Add(limit); !done(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			out, _ := os.ReadFile(c.log)
			c.t.Fatalf("no %s within %v\nqueue:\n%s\nrecord:\n%s\n%s", what, limit, c.ours(), out, c.seen())
		}
	}
}

// seen shows jobs that do not end: the processes of this world and of the cluster's job
// steps, and the last words of Slurm's daemons.
func (c *cluster) seen() string {
	ps, _ := exec.Command("ps", "-eo", "pid,ppid,stat,etimes,wchan:24,args").Output()
	var b strings.Builder
	b.WriteString("processes:\n")
	for line := range strings.Lines(string(ps)) {
		if strings.Contains(line, c.workdir) || strings.Contains(line, "slurmstepd") {
			b.WriteString(line)
		}
	}
	logs, _ := filepath.Glob(filepath.Join(os.Getenv("SLURM_LAB_DIR"), "log", "slurm[cd]*.log"))
	for _, f := range logs {
		end, _ := exec.Command("tail", "-n", "25", f).Output()
		fmt.Fprintf(&b, "%s:\n%s", f, end)
	}
	return b.String()
}

// idle waits until the cluster has nothing of ours left.
func (c *cluster) idle(limit time.Duration) {
	c.t.Helper()
	c.until("end of all jobs", limit, func() bool { return c.ours() == "" })
}

// ran counts the lines of the record, each written by one run of one job.
func (c *cluster) ran() map[string]int {
	text, _ := os.ReadFile(c.log)
	out := map[string]int{}
	for line := range strings.Lines(string(text)) {
		out[strings.TrimSpace(line)]++
	}
	return out
}

// wantRan wants jobs NAME 0 to NAME n-1 to have run once each.
func (c *cluster) wantRan(name string, n int) {
	c.t.Helper()
	ran := c.ran()
	for i := range n {
		if key := fmt.Sprintf("%s %d", name, i); ran[key] != 1 {
			c.t.Errorf("%s ran %d times", key, ran[key])
		}
	}
}

// clear ends the remaining jobs of this world on the cluster.
func (c *cluster) clear() {
	for line := range strings.Lines(c.ours()) {
		exec.Command(c.dialect.cancel, strings.Fields(line)[0]).Run()
	}
}
