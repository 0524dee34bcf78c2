package systemtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/internal/pbssim"
	"github.com/muster-run/muster/internal/program"
)

// pbsReal is where a real OpenPBS is installed, pbsInside the variable that says that the
// tests run on its host.
const (
	pbsReal   = "/opt/pbs/bin"
	pbsInside = "MUSTER_TEST_REAL_PBS"
)

var pbsParts = []slurmPart{
	{"detached", func(t *testing.T) { submitsAndLeaves(t, onPBS) }},
	{"runaway chain", func(t *testing.T) { runaway(t, onPBS) }},
	{"from a smoke to an array", func(t *testing.T) { pipeline(t, onPBS) }},
	{"holds", pbsHolds},
	{"killed at once", pbsKilled},
	{"purged history", pbsPurged},
	{"packed", pbsPacked},
	{"values", pbsValues},
	{"scratch", pbsScratch},
}

// TestSystemPBS holds the pbs backend against the stand-in for PBS.
func TestSystemPBS(t *testing.T) {
	needs.System(t, "runs hundreds of jobs")
	runOnPBS(t, pbsParts)
}

// TestNightlyPBS has what takes a server's whole attention.
func TestNightlyPBS(t *testing.T) {
	needs.Nightly(t, "submits 5,000 jobs")
	runOnPBS(t, []slurmPart{
		{"5000 jobs", func(t *testing.T) { array5000(t, onPBS) }},
	})
}

// runOnPBS runs the parts on the server of this host, or on a stand-in.
func runOnPBS(t *testing.T, parts []slurmPart) {
	if os.Getenv(pbsInside) == "" {
		t.Setenv("PATH", pbssim.Start(t, pbssim.Config{}).Bin+":"+os.Getenv("PATH"))
	}
	for _, p := range parts {
		t.Run(p.name, p.run)
	}
}

// TestSystemPBSReal runs TestSystemPBS on a real server, as a user who may submit. It
// may be skipped: PBS's licence keeps it out of CI.
func TestSystemPBSReal(t *testing.T) {
	needs.System(t, "brings up a PBS server as root")
	if _, err := os.Stat(pbsReal); err != nil || os.Geteuid() != 0 {
		t.Skipf("SKIPPED: no OpenPBS is installed here for root to start, so that campaigns on PBS ran on its stand-in only (%v)", err)
	}
	if out, err := exec.CommandContext(t.Context(), "../lab/pbs-up").CombinedOutput(); err != nil {
		t.Fatalf("the PBS server does not come up: %v\n%s", err, out)
	}
	t.Cleanup(func() { exec.Command("../lab/pbs-down").Run() })
	dir, err := os.MkdirTemp("/home/alice", "muster-pbs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program.Copy(t, self, filepath.Join(dir, "tests"))
	program.Copy(t, os.Getenv("MUSTER_BINARY"), filepath.Join(dir, "muster"))
	if out, err := exec.Command("chown", "-R", "alice", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	inside := exec.CommandContext(t.Context(), "../lab/pbs-in", "env", "-C", dir, "MUSTER_SYSTEM_TESTS=1", "MUSTER_BINARY="+dir+"/muster", pbsInside+"=1", "TMPDIR="+dir,
		dir+"/tests", "-test.run=^TestSystemPBS$", "-test.v", "-test.timeout=20m")
	out, err := inside.CombinedOutput()
	if t.Logf("%s", out); err != nil {
		t.Error(err)
	}
}

// onPBS makes a world on PBS of a campaign that is written for Slurm.
func onPBS(t *testing.T, campaign string) *cluster {
	t.Helper()
	text := strings.NewReplacer(`backend "slurm" "lab" { workdir = "WORKDIR" }`, "backend \"pbs\" \"lab\" {\n  workdir = \"WORKDIR\"\n  queues = [\"workq\", \"debug\"]\n}",
		"backend.slurm", "backend.pbs", "SLURM_JOB_PARTITION", "PBS_QUEUE").Replace(campaign)
	c := onSlurm(t, text)
	before := pbsJobs("-x")
	c.dialect = dialect{
		submit: "qsub", hold: " -h ", cancel: "qdel",
		commands: []string{"qsub", "qstat", "qdel", "qalter", "qhold", "qrls", "qselect", "pbsnodes"},
		neighbour: func(c *cluster) string {
			script := filepath.Join(c.workdir, "neighbour")
			program.Write(c.t, script, "#!/bin/sh\n#PBS -N link0.neighbour\n#PBS -l walltime=00:09:00\n#PBS -k doe\n#PBS -j oe\n#PBS -o /dev/null\nsleep 300\n")
			id := c.tell("qsub", script)
			before[id] = true
			return id
		},
		alive: func(c *cluster, id string) bool { return pbsJobs()[id] },
		queue: func(*cluster) string {
			var mine []string
			for id := range pbsJobs() {
				if !before[id] {
					mine = append(mine, id)
				}
			}
			return strings.Join(mine, "\n")
		},
		queues:     [2]string{"debug", "workq"},
		directives: []string{"#PBS -q debug", "#PBS -q workq", "#PBS -J ", "%5"},
	}
	return c
}

// pbsJobs are the ids of this user's jobs.
func pbsJobs(options ...string) map[string]bool {
	out, _ := exec.Command("qselect", append([]string{"-u", pbsUser()}, options...)...).Output()
	ids := map[string]bool{}
	for _, id := range strings.Fields(string(out)) {
		ids[id] = true
	}
	return ids
}

func pbsUser() string {
	out, _ := exec.Command("id", "-un").Output()
	return strings.TrimSpace(string(out))
}

// pbsHolds: muster's own hold of submitted jobs is muster's, and one by hand is that person's:
// muster names it, and does not lift it.
func pbsHolds(t *testing.T) {
	c := onPBS(t, `campaign "holds" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
phase "a" {
  grid {
    axes = { i = range(4) }
  }
  max_parallel = 1
  place {
    candidates = [backend.slurm.lab]
  }
  job {
    command = "echo a ${cell.i} >> RECORD; while [ ! -e go ]; do sleep 0.2; done; echo ${cell.i} > ${output.r}"
    resources {
      cpus     = 1
      walltime = "5m"
    }
    output "r" { path = "out/${cell.i}" }
  }
}
`)
	flat := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	c.must("apply", "-detach", "-auto-approve")
	c.until("first job", time.Minute, func() bool { return len(c.ran()) == 1 })
	c.must("hold", "-reason=lunch")
	if out := flat(c.must("status", "-refresh")); strings.Contains(out, "was killed") || strings.Contains(out, "held in the queue") || !strings.Contains(out, "waits for `muster resume`") {
		t.Errorf("status says of a hold by muster\n%s", out)
	}
	c.must("resume")
	ids := strings.Fields(c.ours())
	if len(ids) != 1 {
		t.Fatalf("in the queue: %q", ids)
	}
	c.tell("qhold", ids[0])
	out, code := c.pass()
	if code != 3 || !strings.Contains(flat(out), "3 held in the queue") || strings.Contains(out, "was killed") {
		t.Errorf("a pass says of a hold by hand, with exit %d\n%s", code, out)
	}
	if err := os.WriteFile(filepath.Join(c.workdir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Second)
	if n := len(c.ran()); n != 1 {
		t.Errorf("%d jobs ran under a hold by hand, want 1", n)
	}
	c.tell("qrls", ids[0])
	c.idle(2 * time.Minute)
	if out, code := c.pass(); code != 0 || !strings.Contains(out, "4 of 4 jobs done and verified") {
		t.Errorf("exit %d\n%s", code, out)
	}
	c.wantRan("a", 4)
}

// pbsKilled: muster is killed at some instants while it submits three phases; a later
// apply finishes them, and nothing runs twice.
func pbsKilled(t *testing.T) {
	for _, after := range []string{"first qsub", "second qsub", "end"} {
		t.Run(after, func(t *testing.T) {
			c := onPBS(t, strings.ReplaceAll(slurmPhases, "COUNT", "20"))
			switch after {
			case "first qsub":
				c.count("kill -9 $PPID", "qsub") // submitted all the same
			case "second qsub":
				c.count(`[ $(grep -c . `+c.tools+`/calls) != 2 ] || kill -9 $PPID`, "qsub")
			}
			cmd := c.command("apply", "-detach", "-auto-approve")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if after != "end" {
				c.until("qsub", time.Minute, func() bool { return len(c.submissions()) > 0 })
			}
			cmd.Wait()
			os.RemoveAll(c.tools)
			out, code := c.run("apply", "-auto-approve", "-lock-timeout=1m")
			if code == 0 || !strings.Contains(out, "57 of 60 jobs done and verified, 1 failed, 2 blocked") {
				t.Errorf("exit %d:\n%s", code, out)
			}
			c.wantRan("teacher", 20)
			for line, n := range c.ran() {
				if n != 1 {
					t.Errorf("%s ran %d times", line, n)
				}
			}
		})
	}
}

// pbsPurged: PBS has forgotten all jobs when muster looks again. Their own records say
// how they ended, and nothing runs twice.
func pbsPurged(t *testing.T) {
	c := onPBS(t, strings.ReplaceAll(slurmPhases, "COUNT", "8"))
	before := pbsJobs("-x")
	c.must("apply", "-detach", "-auto-approve")
	c.until("end of the queue", 2*time.Minute, func() bool { return c.dialect.queue(c) == "" })
	for id := range pbsJobs("-x") {
		if !before[id] {
			c.tell("qdel", "-x", id)
		}
	}
	if left := len(pbsJobs("-x")); left != len(before) {
		t.Fatalf("%d jobs are in PBS's history, %d were before", left, len(before))
	}
	if out, code := c.run("apply", "-auto-approve"); code == 0 || !strings.Contains(out, "21 of 24 jobs done and verified, 1 failed, 2 blocked") || !strings.Contains(out, "failed: bad_output") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	c.wantRan("teacher", 8)
	for line, n := range c.ran() {
		if n != 1 {
			t.Errorf("%s ran %d times", line, n)
		}
	}
}

const pbsPack = `campaign "packed" {}
backend "pbs" "lab" {
  workdir = "WORKDIR"
  profile = "site.hcl"
  queues  = ["workq"]
}
phase "replica" {
  grid { axes = { n = range(5) } }
  place { candidates = [backend.pbs.lab] }
  job {
    command = "echo ${cell.n} $PBS_JOBID >> RECORD; if [ ${cell.n} = 2 ] && mkdir WORKDIR/once; then echo no licence; exit 3; fi; echo x > ${output.r}"
    output "r" { path = "out/${cell.n}" }
    resources {
      cpus     = 16
      walltime = "5m"
    }
  }
  retry {
    on           = ["unknown"]
    max_attempts = 2
    delay        = "1s"
  }
}
`

// pbsWholeNodes charges whole nodes, of which jobs that need a part share one.
const pbsWholeNodes = `site     = "Lab"
verified = "2026-11"
whole_node = true
pack     = "auto"
place    = "scatter"
service_units_per_node_hour = "1"
node {
  count = 2
  cpus  = 64
}
queue "workq" { max_time = "24h" }
`

// pbsPacked: four jobs share a node, the fifth has another, and the one that fails is
// launched again alone, while the others of its pack go on.
func pbsPacked(t *testing.T) {
	// Requirement: SUB-14
	c := onPBS(t, pbsPack)
	c.write("site.hcl", pbsWholeNodes)
	c.count("", "qsub")
	if out := c.must("plan"); !strings.Contains(out, "4 share a node") || !strings.Contains(out, "unpacked") || !strings.Contains(out, "Retries of phase.replica wait") {
		t.Errorf("the plan says:\n%s", out)
	}
	c.must("apply", "-auto-approve")
	jobs, sizes := map[string]int{}, map[int]int{}
	for line, n := range c.ran() {
		_, id, _ := strings.Cut(line, " ")
		jobs[id] += n
	}
	for _, n := range jobs {
		sizes[n]++
	}
	if len(jobs) != 3 || sizes[4] != 1 || sizes[1] != 2 || len(c.submissions()) != 3 {
		t.Errorf("launches by job of PBS's: %v; %q", jobs, c.submissions())
	}
	if out, _ := c.run("logs", `phase.replica["n=2"]`, "-attempt=1"); !strings.Contains(out, "no licence") {
		t.Errorf("the log of the launch that failed:\n%s", out)
	}
}

// pbsScratch: elements of an array have folders on their nodes whose paths a command may name
// without quotes, though PBS's own have brackets.
func pbsScratch(t *testing.T) {
	// Requirement: STO-18
	c := onPBS(t, `campaign "scratch" {}
backend "pbs" "lab" {
  workdir = "WORKDIR"
  queues  = ["workq"]
}
phase "a" {
  grid { axes = { i = range(3) } }
  place { candidates = [backend.pbs.lab] }
  job {
    command = "echo $TMPDIR ${cell.i} >> RECORD; set -- ${job.scratch}; [ -d $1 ] && echo ${cell.i} > ${output.r}"
    resources {
      cpus     = 1
      walltime = "5m"
    }
    output "r" { path = "out/${cell.i}" }
    scratch { stage_out = [output.r] }
  }
}
`)
	c.must("apply", "-auto-approve")
	for line := range c.ran() {
		if dir, _, _ := strings.Cut(line, " "); !strings.Contains(dir, "]") {
			t.Errorf("TMPDIR of an element is %s", dir)
		}
	}
	for i := range 3 {
		if got, err := os.ReadFile(filepath.Join(c.workdir, "out", strconv.Itoa(i))); err != nil || string(got) != strconv.Itoa(i)+"\n" {
			t.Errorf("element %d: %q, %v", i, got, err)
		}
	}
}

const pbsOdd = `campaign "values" {}
backend "pbs" "lab" {
  workdir = "WORKDIR"
  queues  = ["workq"]
  env     = { SITE = "a,b='c' \"d\" $HOME %x^y\nline 2" }
}
phase "values" {
  grid { axes = { v = ["with space", "quo'te", "dou\"ble", "new\nline", "com,ma", "dollar$HOME", "back` + "`id`" + `tick", "ünïcödé-日本", "007", "1e999", "true", "[3]", "%d^c", "tab\there", "LONG"] } }
  place { candidates = [backend.pbs.lab] }
  job {
    env      = { V = cell.v }
    command  = "printf '%s\n%s' \"$V\" \"$SITE\" > ${output.r}"
    output "r" { path = "out/${sha256(cell.v)}" }
    resources { walltime = "5m" }
  }
}
PHASE
`

// pbsValues: what PBS's quoting takes apart reaches jobs whole, and so do names that
// are longer than PBS's.
func pbsValues(t *testing.T) {
	name := strings.Repeat("long_", 40)
	long := fmt.Sprintf("phase %q {\n  place { candidates = [backend.pbs.lab] }\n  job {\n    name = \"näme, 'quoted'\"\n    command = \"true\"\n    resources { walltime = \"5m\" }\n  }\n}", name)
	c := onPBS(t, strings.NewReplacer("LONG", strings.Repeat("x", 300), "PHASE", long).Replace(pbsOdd))
	if out := c.must("apply", "-auto-approve"); !strings.Contains(out, "16 of 16 jobs done and verified") {
		t.Errorf("%s", out)
	}
	files, err := filepath.Glob(filepath.Join(c.workdir, "out", "*"))
	if err != nil || len(files) != 15 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil || !strings.HasSuffix(string(text), "\na,b='c' \"d\" $HOME %x^y\nline 2") {
			t.Errorf("%q, %v", text, err)
		}
		all.WriteString("<" + strings.TrimSuffix(string(text), "\na,b='c' \"d\" $HOME %x^y\nline 2") + ">")
	}
	for _, v := range []string{"with space", "quo'te", `dou"ble`, "new\nline", "com,ma", "dollar$HOME", "back`id`tick", "ünïcödé-日本", "007", "1e999", "true", "[3]", "%d^c", "tab\there", strings.Repeat("x", 300)} {
		if !strings.Contains(all.String(), "<"+v+">") {
			t.Errorf("%q has not reached its job", v)
		}
	}
}
