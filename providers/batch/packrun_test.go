package batch_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch"
	"github.com/muster-run/muster/providers/batch/programs"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// A packed is a pack of jobs on the toy.
type packed struct {
	*testing.T
	provider *batch.Provider
	toy      *toy
	backend  providers.Backend
	jobs     []providers.Job
}

// newPacked submits commands as one pack.
func newPacked(t *testing.T, commands ...string) *packed {
	t.Helper()
	return newTurns(t, 0, 0, commands...)
}

// newTurns submits commands as one pack in which so many run beside one another, each up
// to an hour, and the others in turns.
func newTurns(t *testing.T, slots int, allocation time.Duration, commands ...string) *packed {
	t.Helper()
	install := t.TempDir()
	syscall.ForkLock.RLock() // what is forked while it is written keeps it from running; see package program
	_, err := programs.Install(install, "")
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	p := &packed{T: t, toy: &toy{install: install}, backend: providers.Backend{Name: "toy.test", Type: "toy", Workdir: t.TempDir(), Campaign: "test", Lineage: "0123"}}
	p.provider = batch.New(batch.Options{Type: p.toy, Agent: []string{"node"}, Floor: 50 * time.Millisecond})
	if err := p.provider.Configure(t.Context(), p.backend); err != nil {
		t.Fatal(err)
	}
	for i, c := range commands {
		p.jobs = append(p.jobs, providers.Job{Token: p.token(i), Address: fmt.Sprintf("phase.a[%d]", i), Phase: "a", Pool: "all", Attempt: 1, Shell: c,
			Workdir: p.backend.Workdir, Dir: p.backend.Workdir, ResultHash: fmt.Sprint(i), Outputs: []providers.Output{{Name: "out", Kind: "path", Path: fmt.Sprintf("out%d", i)}},
			Shape: offer.Shape{CPUs: 1, GPUs: 2, Nodes: 1, Walltime: time.Hour, Pack: len(commands), Slots: slots, Allocation: allocation}, Pack: "pack"})
	}
	out, err := p.provider.Submit(t.Context(), providers.SubmitRequest{Backend: p.backend.Name, Fence: 1, Batch: "0123456789", Jobs: p.jobs})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range out {
		if s.Err != nil || s.Handle != "1.toy" {
			t.Fatalf("submitted %+v", s)
		}
	}
	return p
}

// token is that of a job: processes are told apart by it, also those of other tests.
func (p *packed) token(i int) string { return fmt.Sprintf("%s-%d", p.Name(), i) }

// until watches until done says so, and returns what was told last of each job.
func (p *packed) until(done func(last map[string]offer.Observation) bool) map[string]offer.Observation {
	p.Helper()
	last := map[string]offer.Observation{}
	ctx, stop := context.WithTimeout(p.Context(), 3*time.Minute)
	defer stop()
	p.provider.Watch(ctx, providers.WatchRequest{Backend: p.backend.Name}, func(b providers.Batch) error {
		for _, o := range b.Events {
			last[o.Token] = o
		}
		if done(last) {
			stop()
		}
		return nil
	})
	if !done(last) {
		p.Fatalf("last told: %+v", last)
	}
	return last
}

// ended reports whether so many jobs have ended.
func ended(n int) func(map[string]offer.Observation) bool {
	return func(last map[string]offer.Observation) bool {
		for _, o := range last {
			switch o.Status {
			case offer.Completed, offer.Failed, offer.Cancelled:
			default:
				return false
			}
		}
		return len(last) == n
	}
}

func running(token string) func(map[string]offer.Observation) bool {
	return func(last map[string]offer.Observation) bool { return last[token].Status == offer.Running }
}

// read waits for a file of the workdir that a job writes, and reads it.
func (p *packed) read(name string) string {
	p.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if text, err := os.ReadFile(filepath.Join(p.backend.Workdir, name)); err == nil && strings.HasSuffix(string(text), "\n") {
			return strings.TrimSpace(string(text))
		}
	}
	p.Fatalf("%s was not written", name)
	return ""
}

// TestPackRuns: jobs of a pack run beside one another, each on its own devices, and one
// that fails, or leaves no output, is nothing to the others.
func TestPackRuns(t *testing.T) {
	t.Parallel()
	p := newPacked(t, "until [ -e there ]; do sleep 0.01; done; echo $CUDA_VISIBLE_DEVICES $OMP_NUM_THREADS > out0", "echo $CUDA_VISIBLE_DEVICES > out1; echo > there", "exit 3", "true")
	last := p.until(ended(4))
	for token, want := range map[string]offer.Status{p.token(0): offer.Completed, p.token(1): offer.Completed, p.token(2): offer.Failed, p.token(3): offer.Failed} {
		if o := last[token]; o.Status != want || o.Got != nil || o.Handle != "1.toy" {
			t.Errorf("%s is %+v", token, o)
		}
	}
	if a, b := p.read("out0"), p.read("out1"); a != "0,1 1" || b != "2,3" {
		t.Errorf("devices and threads %q, devices %q", a, b)
	}
	if o := last[p.token(2)]; o.Exit == nil || *o.Exit != 3 {
		t.Errorf("failed as %+v", o)
	}
	var end string // the pack failed, too: what comes after all of it must not run
	for late := time.Now().Add(30 * time.Second); end == "" && time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
		list, err := p.toy.Account(t.Context(), []string{"1.toy"})
		if err != nil {
			t.Fatal(err)
		}
		end = string(list[0].End.Outcome)
	}
	if end != "FAILED" {
		t.Errorf("the pack ended as %q", end)
	}
}

// TestPackOneCancelled: a job is cancelled while the others go on.
func TestPackOneCancelled(t *testing.T) {
	t.Parallel()
	p := newPacked(t, "echo $$ > pid; sleep 600", "until [ -e there ]; do sleep 0.01; done; echo > out1")
	p.until(running(p.token(1)))
	p.read("pid")
	if _, err := p.provider.Cancel(t.Context(), providers.CancelRequest{Backend: p.backend.Name, Fence: 1, Tokens: []string{p.token(0)}}); err != nil {
		t.Fatal(err)
	}
	last := p.until(func(last map[string]offer.Observation) bool { return last[p.token(0)].Status == offer.Cancelled })
	if o := last[p.token(1)]; o.Status != offer.Running {
		t.Errorf("the other is %+v", o)
	}
	if err := os.WriteFile(filepath.Join(p.backend.Workdir, "there"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if o := p.until(ended(2))[p.token(1)]; o.Status != offer.Completed {
		t.Errorf("the other is %+v", o)
	}
}

// TestPackProgramKilled: the program of one job is killed. Its command ends, the job
// has failed, and the others go on.
func TestPackProgramKilled(t *testing.T) {
	t.Parallel()
	p := newPacked(t, "awk '/^PPid/{print $2}' /proc/$PPID/status > program; echo $$ > pid; sleep 600", "until [ -e there ]; do sleep 0.01; done; echo > out1")
	program, err := strconv.Atoi(p.read("program"))
	if err != nil {
		t.Fatal(err)
	}
	command, err := strconv.Atoi(p.read("pid"))
	if err != nil {
		t.Fatal(err)
	}
	p.until(running(p.token(1)))
	if err := syscall.Kill(program, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	o := p.until(func(last map[string]offer.Observation) bool { return last[p.token(0)].Status == offer.Failed })[p.token(0)]
	if o.Class != failure.Killed || !strings.Contains(o.Reason, "SIGKILL; the others of its pack went on") {
		t.Errorf("it is %+v", o)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // a process that was killed may take a moment to end
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", command))
		if err != nil || strings.Contains(string(text), ") Z ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("its command runs on: %s", text)
		}
	}
	if err := os.WriteFile(filepath.Join(p.backend.Workdir, "there"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if o := p.until(ended(2))[p.token(1)]; o.Status != offer.Completed {
		t.Errorf("the other is %+v", o)
	}
}

// TestPackShares: a job that fails early is charged for its part of the node until then,
// and the slow one that is left has all of it; both are no more than the pack lasted.
func TestPackShares(t *testing.T) {
	// Requirement: CST-04
	t.Parallel()
	const alone = time.Second
	began := time.Now()
	p := newPacked(t, "awk '/^PPid/{print $2}' /proc/$PPID/status > program; sleep 1; exit 3", "until [ -e there ]; do sleep 0.01; done; echo > out1")
	program := p.read("program")
	p.until(func(last map[string]offer.Observation) bool {
		return last[p.token(0)].Status == offer.Failed && running(p.token(1))(last)
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // its record comes before its end
		if _, err := os.Stat("/proc/" + program); err != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the program of the job that failed runs on")
		}
	}
	time.Sleep(alone)
	if err := os.WriteFile(filepath.Join(p.backend.Workdir, "there"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	last := p.until(ended(2))
	failed, slow := last[p.token(0)].Usage, last[p.token(1)].Usage
	if failed == nil || slow == nil {
		t.Fatalf("used %+v and %+v", failed, slow)
	}
	if failed.NodeTime <= 0 || slow.NodeTime < failed.NodeTime+alone*3/4 || failed.NodeTime+slow.NodeTime > time.Since(began) {
		t.Errorf("after %s alone %s and %s of the node, in %s", alone, failed.NodeTime, slow.NodeTime, time.Since(began))
	}
}

// TestPackTurns: jobs of a pack follow one another in its slots, on the devices of those,
// and each is charged for its part of the node. Those that wait are queued.
func TestPackTurns(t *testing.T) {
	// Requirement: SUB-14
	t.Parallel()
	began := time.Now()
	note := func(i int) string {
		return fmt.Sprintf("mkdir slot$CUDA_VISIBLE_DEVICES || exit 9; until [ -e there ]; do sleep 0.01; done; echo $CUDA_VISIBLE_DEVICES > out%d; rmdir slot$CUDA_VISIBLE_DEVICES", i)
	}
	p := newTurns(t, 2, 4*time.Hour, note(0), note(1), note(2), "exit 3", note(4))
	last := p.until(func(last map[string]offer.Observation) bool {
		return running(p.token(0))(last) && running(p.token(1))(last) && strings.Contains(last[p.token(4)].Reason, "its turn comes in 1.toy")
	})
	for i := 2; i < 5; i++ {
		if o := last[p.token(i)]; o.Status != offer.Queued || !o.Started.IsZero() {
			t.Errorf("one that waits is %+v", o)
		}
	}
	if err := os.WriteFile(filepath.Join(p.backend.Workdir, "there"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	last = p.until(ended(5))
	var shares time.Duration
	slots := map[string]int{}
	for i := range 5 {
		o := last[p.token(i)]
		if o.Handle != "1.toy" || o.Usage == nil || o.Usage.NodeTime <= 0 {
			t.Errorf("job %d is %+v, used %+v", i, o, o.Usage)
			continue
		}
		shares += o.Usage.NodeTime
		if i == 3 {
			if o.Status != offer.Failed || o.Exit == nil || *o.Exit != 3 {
				t.Errorf("it failed as %+v", o)
			}
			continue
		}
		if o.Status != offer.Completed {
			t.Errorf("job %d is %+v", i, o)
		}
		slots[p.read(fmt.Sprintf("out%d", i))]++
	}
	if len(slots) > 2 || slots["0,1"] == 0 || slots["2,3"] == 0 || shares > time.Since(began) {
		t.Errorf("slots %v, %s of the node in %s", slots, shares, time.Since(began))
	}
}

// TestPackTurnsLeft: a job that may not end within the allocation does not begin in it. It
// goes into another, without a retry, and all run once.
func TestPackTurnsLeft(t *testing.T) {
	t.Parallel()
	p := newTurns(t, 1, time.Hour, "echo 0 >> all; echo > out0", "echo 1 >> all; echo > out1", "echo 2 >> all; echo > out2")
	last := p.until(ended(3))
	handles := map[string]bool{}
	for i := range 3 {
		o := last[p.token(i)]
		if o.Status != offer.Completed || o.Attempt != 1 {
			t.Errorf("job %d is %+v", i, o)
		}
		handles[o.Handle] = true
	}
	if len(handles) != 3 {
		t.Errorf("they ran in %v", handles)
	}
	text, err := os.ReadFile(filepath.Join(p.backend.Workdir, "all"))
	if err != nil || strings.Count(string(text), "\n") != 3 {
		t.Errorf("what ran: %q, %v", text, err)
	}
}

// TestPackTurnHeld: while one job of a slot runs, another that waits for its turn is held,
// and one is cancelled: neither runs. The held one is resumed, and goes into a new pack.
func TestPackTurnHeld(t *testing.T) {
	t.Parallel()
	p := newTurns(t, 1, 8*time.Hour, "until [ -e there ]; do sleep 0.01; done; echo > out0", "echo >> ran1; echo > out1", "echo >> ran2; echo > out2", "echo > out3")
	p.until(running(p.token(0)))
	hold := true
	if err := p.provider.Control(t.Context(), providers.ControlRequest{Backend: p.backend.Name, Fence: 1, Hold: &hold, Tokens: []string{p.token(1)}}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.provider.Cancel(t.Context(), providers.CancelRequest{Backend: p.backend.Name, Fence: 1, Tokens: []string{p.token(2)}}); err != nil {
		t.Fatal(err)
	}
	p.until(func(last map[string]offer.Observation) bool {
		return last[p.token(2)].Status == offer.Cancelled && last[p.token(1)].Cause == offer.JobHeld
	})
	if err := os.WriteFile(filepath.Join(p.backend.Workdir, "there"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	last := p.until(func(last map[string]offer.Observation) bool {
		return last[p.token(3)].Status == offer.Completed && last[p.token(1)].Stage == offer.Accepted
	})
	if o := last[p.token(1)]; o.Status != offer.Queued {
		t.Errorf("the held one is %+v", o)
	}
	for _, name := range []string{"ran1", "ran2"} {
		if _, err := os.Stat(filepath.Join(p.backend.Workdir, name)); err == nil {
			t.Errorf("%s: it ran", name)
		}
	}
	hold = false
	if err := p.provider.Control(t.Context(), providers.ControlRequest{Backend: p.backend.Name, Fence: 1, Hold: &hold, Tokens: []string{p.token(1)}}); err != nil {
		t.Fatal(err)
	}
	if o := p.until(ended(4))[p.token(1)]; o.Status != offer.Completed || o.Handle == "1.toy" {
		t.Errorf("resumed, it is %+v", o)
	}
}
