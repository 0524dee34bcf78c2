package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/plugins"
	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/local"
)

// killAfter, beside the spool, holds how many jobs the local backend takes before
// its muster is killed: at that instant they are with the queue, and the state
// does not know it.
const killAfter = ".kill"

// A reaper is the local backend, and kills its muster with SIGKILL.
type reaper struct {
	*local.Local
	mu   sync.Mutex
	left int
}

// serveReaper puts the reaper in the place of the local backend.
func serveReaper() {
	text, err := os.ReadFile(os.Getenv("MUSTER_SPOOL") + killAfter)
	if err != nil {
		return
	}
	n, err := strconv.Atoi(string(text))
	if err != nil {
		panic(err)
	}
	plugins.Builtins["local"] = plugins.Builtin{Schema: local.Schema, New: func() providers.Provider { return &reaper{Local: local.New().(*local.Local), left: n} }}
}

func (r *reaper) Submit(ctx context.Context, q providers.SubmitRequest) ([]providers.Submitted, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(q.Jobs) >= r.left
	q.Jobs = q.Jobs[:min(len(q.Jobs), r.left)]
	r.left -= len(q.Jobs)
	out, err := r.Local.Submit(ctx, q)
	if last && err == nil {
		syscall.Kill(os.Getppid(), syscall.SIGKILL)
		select {} // no answer leaves
	}
	return out, err
}

// TestKilledBetweenSubmitAndRecord: an apply in CI is killed when job 31 of 60 is
// with the queue and not yet in the state. The next plan finds it; nothing
// runs twice; the dead runner's lock is told with its owner; a second runner is
// kept out; an older plan is stale; and an edited campaign touches what it must.
func TestKilledBetweenSubmitAndRecord(t *testing.T) {
	// Requirement: SUB-02, SUB-03
	t.Parallel()
	needs.Program(t, "sh")
	root := sessionDir(t)
	r := &applied{t: t, dir: filepath.Join(root, "c"), env: append(os.Environ(), append(sessionEnv(root), "CI=true")...)}
	if err := os.MkdirAll(filepath.Join(r.dir, "ran"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.write("go", "") }) // whatever happens, the jobs end
	seeds := "1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 42"
	campaign := func(seeds, epochs string) string {
		return fmt.Sprintf(`campaign "killed" {}
backend "local" "local" {
  slots = 2
  cpus  = 2
}
phase "train" {
  grid {
    axes = {
      model = ["a", "b", "c"]
      seed  = [%s]
    }
  }
  job {
    command = "echo x >> ran/${cell.model}-${cell.seed}-${cell.key == "model=c,seed=20" ? %q : "3"}; until test -e go; do sleep 0.05; done; echo done > ${output.x}"
    resources { walltime = "10m" }
    output "x" { path = "out/${cell.model}-${cell.seed}" }
  }
}
`, seeds, epochs)
	}
	r.write("campaign.muster.hcl", campaign(seeds, "3"))

	// Killed: 31 jobs are with the queue, and the state knows of intents alone.
	order := filepath.Join(root, ".spool"+killAfter)
	if err := os.WriteFile(order, []byte("31"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := r.muster("apply", "-auto-approve", "-detach"); code != -1 {
		t.Fatalf("exit %d: not killed\n%s", code, out)
	}
	if err := os.Remove(order); err != nil {
		t.Fatal(err)
	}

	// The next plan adopts them; it tells who is gone, as a look at the state does.
	for _, command := range [][]string{{"status"}, {"plan", "-out=before.mplan"}} {
		said, _ := r.muster(command...)
		said = strings.Join(strings.Fields(said), " ") // as it is folded
		if !strings.Contains(said, "ada on ") || !strings.Contains(said, "for apply and has exited; last seen 20") {
			t.Errorf("%s does not tell of the dead runner:\n%s", command[0], said)
		}
	}
	if plan := r.plan(); len(plan["adopt"]) != 31 || len(plan["run"]) != 29 || plan["adopt"][30] != `phase.train["model=b,seed=12"]` {
		t.Errorf("31 are with the queue, and 29 are not: %v", plan)
	}

	// The next apply submits the rest and continues all; a second runner beside it is refused.
	if out, code := r.muster("apply", "-auto-approve", "-detach"); code != 0 || !strings.Contains(strings.Join(strings.Fields(out), " "), "has exited; last seen") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	first := r.start("apply", "-auto-approve")
	r.until("the first runner holds the lock", func() bool {
		lease, _ := os.ReadFile(filepath.Join(r.dir, "muster.state.lock"))
		return strings.Contains(string(lease), fmt.Sprintf(`"pid":%d,`, first.Process.Pid))
	})
	r.until("two jobs run", func() bool { out, _ := r.muster("status"); return strings.Contains(out, "2 running") })
	if out, code := r.muster("apply", "-auto-approve"); code != int(command.Locked) || !strings.Contains(out, "ada on ") || !strings.Contains(out, "has held it since 20") {
		t.Errorf("exit %d: a second runner is not kept out by name\n%s", code, out)
	}

	// The order in which a list is written is nothing.
	r.write("campaign.muster.hcl", campaign("42, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 6, 5, 4, 3, 2, 1", "3"))
	if got := r.plan(); len(got["run"])+len(got["cancel"])+len(got["rerun"])+len(got["restart"]) != 0 {
		t.Errorf("a list in another order changes the plan: %v", got)
	}

	// Seed 42 leaves, 7 comes, one epoch value changes.
	r.write("campaign.muster.hcl", campaign(strings.Replace(seeds, "42", "7", 1), "5"))
	running := r.running()
	edited := r.plan()
	r.same("cancelled", edited["cancel"], `phase.train["model=a,seed=42"]`, `phase.train["model=b,seed=42"]`, `phase.train["model=c,seed=42"]`)
	r.same("made", edited["run"], `phase.train["model=a,seed=7"]`, `phase.train["model=b,seed=7"]`, `phase.train["model=c,seed=7"]`)
	r.same("replaced", edited["restart"], `phase.train["model=c,seed=20"]`)
	for _, address := range running {
		if !slices.Contains(edited["continue"], address) {
			t.Errorf("%s runs and is touched: %v", address, edited)
		}
	}

	// The plan from before is stale: the campaign and the state moved on.
	first.Process.Signal(syscall.SIGTERM)
	first.Wait()
	if out, code := r.muster("apply", "before.mplan"); code != int(command.Failed) || !strings.Contains(out, "campaign.muster.hcl was edited") {
		t.Errorf("exit %d: the plan from before is not refused\n%s", code, out)
	}
	last := r.start("apply", "-auto-approve", "-allow-cancel", "-allow-rerun")
	r.until("what left and what changed is cancelled", func() bool {
		out, _ := r.command("status", "-json").Output()
		for _, line := range strings.SplitAfter(string(out), "}") {
			if strings.Contains(line, `seed=42`) && strings.Contains(line, `"queued"`) {
				return false
			}
		}
		again := r.plan()
		return len(again["cancel"])+len(again["restart"]) == 0
	})
	r.write("go", "")
	if err := last.Wait(); err != nil {
		t.Fatal(err)
	}
	if out, code := r.muster("plan", "-detailed-exitcode"); code != 0 || !strings.Contains(out, "60 jobs are done and verified") {
		t.Errorf("exit %d\n%s", code, out)
	}
	r.once()
}

// applied is a campaign that an apply of this test works on.
type applied struct {
	t   *testing.T
	dir string
	env []string
}

func (r *applied) write(name, text string) {
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
		r.t.Error(err)
	}
}

func (r *applied) command(args ...string) *exec.Cmd {
	cmd := exec.Command("muster", args...)
	cmd.Dir, cmd.Env = r.dir, r.env
	return cmd
}

// muster runs a command: its output and its exit code, -1 when a signal ended
// it.
func (r *applied) muster(args ...string) (string, int) {
	cmd := r.command(args...)
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

func (r *applied) start(args ...string) *exec.Cmd {
	r.t.Helper()
	cmd := r.command(args...)
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { cmd.Process.Kill() })
	return cmd
}

func (r *applied) until(what string, done func() bool) {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("not within a minute: %s", what)
		}
	}
}

// plan is the planned work, as addresses by action.
func (r *applied) plan() map[string][]string {
	r.t.Helper()
	cmd := r.command("plan", "-json")
	out, err := cmd.Output()
	type row struct{ Address, Action string }
	var doc struct{ Jobs, Other []row }
	if jsonErr := json.Unmarshal(out, &doc); jsonErr != nil {
		r.t.Fatalf("%v, %v\n%s", err, jsonErr, out)
	}
	by := map[string][]string{}
	for _, j := range append(doc.Jobs, doc.Other...) {
		by[j.Action] = append(by[j.Action], j.Address)
	}
	return by
}

func (r *applied) running() []string {
	r.t.Helper()
	out, err := r.command("status", "-json").Output()
	var doc struct {
		Jobs []struct{ Address, Status string }
	}
	if jsonErr := json.Unmarshal(out, &doc); jsonErr != nil || err != nil {
		r.t.Fatalf("%v, %v\n%s", err, jsonErr, out)
	}
	var addresses []string
	for _, j := range doc.Jobs {
		if j.Status == "running" {
			addresses = append(addresses, j.Address)
		}
	}
	if len(addresses) != 2 {
		r.t.Errorf("%v run, on two slots", addresses)
	}
	return addresses
}

func (r *applied) same(what string, got []string, want ...string) {
	r.t.Helper()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		r.t.Errorf("%s: %v, not %v", what, got, want)
	}
}

// once holds that every job ran once, and those that left not at all.
func (r *applied) once() {
	r.t.Helper()
	files, err := os.ReadDir(filepath.Join(r.dir, "ran"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range files {
		b, _ := os.ReadFile(filepath.Join(r.dir, "ran", f.Name()))
		if n := strings.Count(string(b), "x"); n != 1 || strings.Contains(f.Name(), "-42-") || f.Name() == "c-20-3" {
			r.t.Errorf("%s ran %d times", f.Name(), n)
		}
	}
	if len(files) != 60 {
		r.t.Errorf("%d jobs ran, not 60", len(files))
	}
}
