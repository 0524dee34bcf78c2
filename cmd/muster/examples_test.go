package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/needs"
)

// examplesPlannedElsewhere need to know what places have that are not here.
var examplesPlannedElsewhere = []string{"distill-paper", "md", "polaris", "rented", "ssh-lab"}

// Every example is a campaign that is valid and plans.
func TestExamplesPlan(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(repository, "examples", "*", "*.muster.hcl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		name := filepath.Base(dir)
		if slices.Contains(examplesPlannedElsewhere, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := exampleOf(t, dir)
			e.env = append(e.env, "MUSTER_NOW=2026-10-01T09:00:00Z")
			e.muster(0, "validate")
			e.muster(0, "fmt", "-check")
			e.muster(2, "plan", "-detailed-exitcode", "-refresh=false")
		})
	}
}

// TestExamplePolaris: without a login, the profile alone says which queue takes the
// jobs, what they cost, and what the site requires.
func TestExamplePolaris(t *testing.T) {
	if testing.Short() {
		t.Skip("runs many commands; make test does")
	}
	t.Parallel()
	// Requirement: SUB-11
	// Requirement: DT-14
	e := exampleOf(t, filepath.Join(repository, "examples", "polaris"))
	e.env = append(e.env, "MUSTER_NOW=2026-10-01T09:00:00Z", "MUSTER_TRUST=1")
	e.muster(0, "validate")
	e.muster(0, "fmt", "-check")
	text := e.muster(1, "plan") // the cluster cannot be asked, which it says last
	for _, want := range []string{"pbs.polaris, queue preemptable", "1×A100, 4 share a node", "p90 is 15 of 100 service units", "PBS cannot be asked"} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan does not say %q:\n%s", want, text)
		}
	}
	if text := e.muster(1, "plan", "-var=account="); !strings.Contains(text, "requires the project of every job (qsub -A)") {
		t.Errorf("a plan without the project of its jobs:\n%s", text)
	}
	if text := e.muster(0, "explain", `phase.md["replica=1"]`); !strings.Contains(text, "queue prod takes jobs of 10 nodes or more") {
		t.Errorf("why not prod:\n%s", text)
	}
}

// The main job: a campaign of real programs from nothing to its report.
// TestExampleMD plans the pipeline without a cluster; TestSystemSlurm runs it on one.
func TestExampleMD(t *testing.T) {
	if testing.Short() {
		t.Skip("runs many commands; make test does")
	}
	t.Parallel()
	e := exampleOf(t, filepath.Join(repository, "examples", "md"))
	e.env = append(e.env, "MUSTER_NOW=2026-06-01T09:00:00Z", "MUSTER_TRUST=1")
	e.muster(0, "validate")
	e.muster(0, "fmt", "-check")
	text := e.muster(1, "plan") // the cluster cannot be asked, which it says last
	for _, want := range []string{"1×A100   on atesting_a100", "1 × ≤60h  1×A100, 3 segments", "20 × ≤12h  1×A100", "needs 90% of phase.replicas", "each after its replica (same i)", "Plan: 46 to run"} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan does not say %q:\n%s", want, text)
		}
	}
}

func TestExampleDistill(t *testing.T) {
	if testing.Short() {
		t.Skip("runs whole campaigns; make test does")
	}
	t.Parallel()
	needs.Program(t, "go") // the example compiles its trainer
	e := exampleOf(t, filepath.Join(repository, "examples", "distill"))
	e.muster(0, "apply", "-auto-approve")

	jobs := e.jobs()
	if len(jobs) < 30 {
		t.Errorf("%d jobs, want at least 30", len(jobs))
	}
	var twice []string
	for _, j := range jobs {
		if j.Status != "completed" {
			t.Errorf("%s is %s", j.Address, j.Status)
		}
		if len(j.Attempts) > 1 {
			twice = append(twice, j.Address)
			if len(j.Attempts) != 2 || j.Attempts[0].Class != "oom_host" {
				t.Errorf("%s: attempts %+v, want two, the first out of memory", j.Address, j.Attempts)
			}
		}
	}
	if want := []string{`phase.teachers["teacher=32"]`}; !slices.Equal(twice, want) {
		t.Errorf("ran more than once: %v, want %v", twice, want)
	}
	e.exists("out/trainer", "out/summary.csv", "out/accuracy.svg")

	if text := e.muster(0, "plan", "-detailed-exitcode"); !strings.Contains(text, "Nothing to do: 42 jobs are done and verified.") {
		t.Errorf("the plan of an applied plan:\n%s", text)
	}
	e.muster(0, "apply", "-auto-approve")
	e.muster(1, "apply", "-auto-approve", "-var=epochs=500") // finished work needs a word more
	if got := e.jobs(); !slices.EqualFunc(got, jobs, exampleJob.same) {
		t.Error("an apply that was refused or had nothing to do ran something")
	}
	e.muster(0, "apply", "-auto-approve", "-allow-rerun", "-var=epochs=500")
	after := e.jobs()
	if len(after) != len(jobs) {
		t.Fatalf("%d jobs, then %d", len(jobs), len(after))
	}
	for i, j := range after {
		if ran, want := !j.same(jobs[i]), phaseOf(j.Address) != "build"; ran != want {
			t.Errorf("%s: ran again: %v, want %v", j.Address, ran, want)
		}
	}
	if text := e.muster(0, "report"); !strings.Contains(text, "result.best_student") || !strings.Contains(text, "oom_host") {
		t.Errorf("the report tells neither the result nor the failure:\n%s", text)
	}
}

// A sample is a copy of a campaign of the repository.
type sample struct {
	t   *testing.T
	dir string
	env []string
}

func exampleOf(t *testing.T, dir string) *sample {
	root := sessionDir(t)
	e := &sample{t: t, dir: filepath.Join(root, filepath.Base(dir)), env: sessionEnv(root)}
	copyCampaign(t, dir, e.dir)
	return e
}

// muster runs a command, which must end with the code, and returns what it
// printed.
func (e *sample) muster(code int, args ...string) string {
	e.t.Helper()
	cmd := exec.Command("muster", args...)
	cmd.Dir, cmd.Env = e.dir, append(os.Environ(), e.env...)
	run := cmd.CombinedOutput
	if slices.Contains(args, "-json") {
		run = cmd.Output // on stderr a slow machine says what it waits for
	}
	out, err := run()
	if cmd.ProcessState == nil {
		e.t.Fatalf("muster %s: %v", strings.Join(args, " "), err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		e.t.Fatalf("muster %s: exit %d, want %d\n%s", strings.Join(args, " "), got, code, out)
	}
	return string(out)
}

// An exampleJob is a job as the state's own document has it.
type exampleJob struct {
	Address  string
	Status   string
	Smoke    bool
	Attempts []struct {
		Token string
		Class string
	}
}

func (j exampleJob) same(k exampleJob) bool {
	return j.Address == k.Address && slices.Equal(j.Attempts, k.Attempts)
}

func phaseOf(address string) string {
	phase, _, _ := strings.Cut(strings.TrimPrefix(address, "phase."), "[")
	return phase
}

// jobs are those of the state that are no smoke, by address.
func (e *sample) jobs() []exampleJob {
	var doc struct{ Jobs []exampleJob }
	if err := json.Unmarshal([]byte(e.muster(0, "state", "pull")), &doc); err != nil {
		e.t.Fatal(err)
	}
	return slices.DeleteFunc(doc.Jobs, func(j exampleJob) bool { return j.Smoke })
}

func (e *sample) exists(names ...string) {
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(e.dir, name)); err != nil || info.Size() == 0 {
			e.t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPaperOffline: the command of the example's README works as written, and asks
// nobody.
func TestPaperOffline(t *testing.T) {
	t.Parallel()
	e := exampleOf(t, filepath.Join(repository, "examples", "distill-paper"))
	if out := e.muster(0, "plan"); !strings.Contains(out, "2 held, 25 blocked") || !strings.Contains(out, "Left out: 2 hosts, 2 setups, not trusted yet.") {
		t.Errorf("%s", out)
	}
}
