package host

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/offer"
)

func TestEndings(t *testing.T) {
	// Requirement: SCR-06
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(w *world, j *providers.Job)
		status offer.Status
		class  string
	}{
		{"exit 3", func(_ *world, j *providers.Job) { j.Shell = "echo broken >&2; exit 3" }, offer.Failed, "unknown"},
		{"kill -9 $$", func(_ *world, j *providers.Job) { j.Shell = "kill -9 $$; echo x > out" }, offer.Failed, "killed"},
		{"kill -TERM $$", func(_ *world, j *providers.Job) { j.Shell = "kill -TERM $$; echo x > out" }, offer.Failed, "killed"},
		{"no output", func(_ *world, j *providers.Job) { j.Shell = "true" }, offer.Failed, ""},
		{"not found", func(_ *world, j *providers.Job) { j.Shell = "no-such-program-at-all" }, offer.Failed, ""},
		{"out of memory in the log", func(_ *world, j *providers.Job) {
			j.Shell = "echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB' >&2; exit 1"
		}, offer.Failed, "oom_gpu"},
		{"stale output", func(w *world, j *providers.Job) {
			os.WriteFile(w.path("out"), []byte("old"), 0o644)
			j.Shell = "true"
		}, offer.Failed, ""},
		{"argv untouched by a shell", func(w *world, j *providers.Job) {
			j.Shell, j.Argv = "", []string{"cp", "$HOME `x` 'y'", "out"}
			os.WriteFile(w.path("$HOME `x` 'y'"), []byte("1"), 0o644)
		}, offer.Completed, ""},
		{"required file missing", func(_ *world, j *providers.Job) {
			j.Shell = "echo > out"
			j.Require = []providers.Require{{Path: "data.csv", Message: "fetch the data first: make data"}}
		}, offer.Failed, "missing_file"},
		{"current directory missing", func(w *world, j *providers.Job) { j.Shell, j.Dir = "echo > out", w.path("nowhere") }, offer.Failed, "missing_file"},
		{"setup fails", func(_ *world, j *providers.Job) {
			j.Shell, j.Setup = "echo > out", []string{"echo no module >&2; false"}
		}, offer.Failed, ""},
		{"setup exports", func(_ *world, j *providers.Job) {
			j.Shell, j.Setup = `test "$A-$B" = "1-2" && echo > out`, []string{"export A=1", "export B=2"}
		}, offer.Completed, ""},
		{"syntax error", func(_ *world, j *providers.Job) { j.Shell = "if then" }, offer.Failed, ""},
		{"walltime", func(_ *world, j *providers.Job) {
			j.Shell, j.Shape.Walltime = "echo > out; sleep 100", 300*time.Millisecond
		}, offer.Failed, "walltime"},
		{"walltime, TERM ignored", func(_ *world, j *providers.Job) {
			j.Shell, j.Shape.Walltime, j.Grace = "trap '' TERM; echo > out; while :; do sleep 0.1; done", 300*time.Millisecond, 300*time.Millisecond
		}, offer.Failed, "walltime"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			j := w.job("", "out")
			c.change(w, &j)
			w.submit(j)
			o := w.wait(j)[0]
			if o.Status != c.status || c.class != "" && o.Class != c.class {
				t.Errorf("ended as %s, class %q; want %s, %q\n%+v", o.Status, o.Class, c.status, c.class, o)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	// Requirement: FP-12, SUB-15
	t.Parallel()
	w := newWorld(t)
	j := w.job(`env > out; pwd >> out; cat "$MUSTER_INPUT_PARTS" >> out`, "deep/er/out")
	j.Shell = `cd deep/er && ` + j.Shell
	j.Attempt = 3 // two launches before, which muster made
	j.Env = []providers.EnvVar{{Name: "A", Value: "x y\nz"}, {Name: "OMP_NUM_THREADS", Value: "7"}}
	j.Secrets = []providers.EnvVar{{Name: "KEY", Value: "it's\n$ecret"}}
	j.Inputs = []providers.Input{{Name: "one", Paths: []string{"/a/b"}}, {Name: "parts", Paths: []string{"/p/1", "/p/2"}}}
	j.Checkpoint = providers.Checkpoint{Path: "ck/latest", Interval: 90 * time.Second, Steps: 45}
	w.submit(j)
	if o := w.wait(j)[0]; o.Status != offer.Completed {
		t.Fatalf("%+v", o)
	}
	got := w.read("deep/er/out")
	for _, want := range []string{"A=x y\nz\n", "OMP_NUM_THREADS=7\n", "KEY=it's\n$ecret\n", "MUSTER_INPUT_ONE=/a/b\n",
		"MUSTER_OUTPUT_O0=" + w.path("deep/er/out") + "\n", "MUSTER_CHECKPOINT=" + w.path("ck/latest") + "\n",
		"MUSTER_CHECKPOINT_INTERVAL=90\n", "MUSTER_CHECKPOINT_STEPS=45\n", "MUSTER_RESTART=2\n", "MUSTER_ATTEMPT=3\n", "MUSTER_TOKEN=" + j.Token + "\n", "/p/1\n/p/2\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	filepath.WalkDir(w.dir, func(path string, d os.DirEntry, _ error) error {
		if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), "$ecret") && d.Name() != "out" {
			t.Errorf("the secret lies in %s", path)
		}
		return nil
	})
}

func TestCommandRunsFromAFileByItsOwnShell(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// $$ is the shell's own pid, $0 its script, and nothing of the wrapper's shows.
	j := w.job(`test "$(cut -d' ' -f1 /proc/$$/stat)" = "$$" && case $0 in */cmd) ;; *) exit 9;; esac; set | grep -i _muster_; echo "$#" > out`, "out")
	w.submit(j)
	if o := w.wait(j)[0]; o.Status != offer.Completed {
		t.Fatalf("%+v", o)
	}
	if got := w.read("out"); got != "0\n" {
		t.Errorf("parameters: %q", got)
	}
}

func TestRetryScalesMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job(`echo "$MUSTER_RESTART" >> tries; if [ "$MUSTER_RESTART" = 0 ]; then echo "java.lang.OutOfMemoryError: Java heap space" >&2; exit 1; fi; echo > out`, "out")
	j.Shape.Memory = 1 << 20
	j.Retry = providers.Retry{On: []string{"oom"}, Max: 3, Scale: map[string]providers.Scale{"oom_host": {Memory: 1.5}}}
	w.submit(j)
	o := w.wait(j)[0]
	if o.Status != offer.Completed || o.Attempt != 2 {
		t.Fatalf("%+v", o)
	}
	if got := w.read("tries"); got != "0\n1\n" {
		t.Errorf("tries: %q", got)
	}
	i := slices.IndexFunc(w.all, func(o offer.Observation) bool { return o.Status == offer.Waiting })
	if i < 0 || w.all[i].Class != failure.OOMHost || w.all[i].Attempt != 1 || w.all[i].Exit == nil {
		t.Errorf("the first attempt was not told: %+v", w.all)
	}
}

func TestRetryEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job(`echo x >> tries; kill -9 $$`, "out")
	j.Retry = providers.Retry{On: []string{"killed"}, Max: 2}
	w.submit(j)
	if o := w.wait(j)[0]; o.Status != offer.Failed || o.Attempt != 2 || o.Class != "killed" {
		t.Fatalf("%+v", o)
	}
	if got := w.read("tries"); got != "x\nx\n" {
		t.Errorf("tries: %q", got)
	}
}

func TestAfterWaitsForVerified(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.job("sleep 0.2; echo 1 > a", "a")
	b := w.job("cat a > b", "b")
	b.After = []string{a.Token}
	bad := w.job("exit 1", "c")
	never := w.job("echo > d", "d")
	never.After = []string{bad.Token}
	w.submit(b, a, never, bad) // an order in which the first needs the second
	late := w.job("echo > e", "e")
	late.After = []string{a.Token, bad.Token}
	chained := w.job("echo > f", "f")
	chained.After = []string{never.Token}
	cancelled, behind := w.job("sleep 60", "g"), w.job("echo > h", "h")
	cancelled.After, behind.After = []string{a.Token}, []string{cancelled.Token}
	w.submit(chained, cancelled, behind)
	w.wait(a, b, bad)
	if got := w.read("b"); got != "1\n" {
		t.Errorf("b holds %q", got)
	}
	w.submit(late) // after one that has failed already
	if _, err := w.client.Cancel(context.Background(), w.place, providers.CancelRequest{Fence: 1, Tokens: []string{cancelled.Token}}); err != nil {
		t.Fatal(err)
	}
	for i, o := range w.wait(never, chained, late, behind) {
		if !o.GivenUp() {
			t.Errorf("job %d after one that did not complete: %+v", i, o)
		}
	}
	if o := w.wait(cancelled)[0]; o.GivenUp() || o.Status != offer.Cancelled {
		t.Errorf("the cancelled one: %+v", o)
	}
	stranger := w.job("true")
	stranger.After = []string{token()}
	res, err := w.client.Submit(context.Background(), w.place, nil, providers.SubmitRequest{Fence: 1, Jobs: []providers.Job{stranger}})
	if err != nil || res[0].Err == nil || res[0].Err.Class != providers.Invalid {
		t.Errorf("after an unknown token: %+v, %v", res, err)
	}
}

func TestSubmitTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job("echo x >> runs; echo > out", "out")
	w.submit(j)
	w.submit(j)
	w.wait(j)
	w.submit(j)
	w.kill()
	w.submit(j)
	other := j
	other.Shell += "; true"
	res, err := w.client.Submit(context.Background(), w.place, nil, providers.SubmitRequest{Fence: 1, Jobs: []providers.Job{other}})
	if err != nil || res[0].Err == nil || res[0].Err.Class != providers.Conflict {
		t.Errorf("another specification: %+v, %v", res, err)
	}
	time.Sleep(100 * time.Millisecond)
	if got := w.read("runs"); got != "x\n" {
		t.Errorf("runs: %q", got)
	}
}

func TestStaleFence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	if err := w.client.Control(ctx, w.place, providers.ControlRequest{Fence: 7}); err != nil {
		t.Fatal(err)
	}
	w.kill()
	j := w.job("true")
	_, err := w.client.Submit(ctx, w.place, nil, providers.SubmitRequest{Fence: 6, Jobs: []providers.Job{j}})
	wantClass(t, "submit", err, providers.StaleFence)
	_, err = w.client.Cancel(ctx, w.place, providers.CancelRequest{Fence: 6, Tokens: []string{j.Token}})
	wantClass(t, "cancel", err, providers.StaleFence)
	wantClass(t, "control", w.client.Control(ctx, w.place, providers.ControlRequest{Fence: 6}), providers.StaleFence)
	wantClass(t, "remove", w.client.Remove(ctx, w.place, providers.RemoveRequest{Fence: 6}), providers.StaleFence)
	other := w.place
	other.Lineage = "another"
	if err := w.client.Control(ctx, other, providers.ControlRequest{Fence: 1}); err != nil {
		t.Errorf("another campaign's fence counts here: %v", err)
	}
}

func wantClass(t *testing.T, what string, err error, class providers.ErrorClass) {
	t.Helper()
	if e, ok := err.(*providers.Error); !ok || e.Class != class {
		t.Errorf("%s: %v, want %s", what, err, class)
	}
}

func TestCancel(t *testing.T) {
	// Requirement: SCR-04, SCR-05
	t.Parallel()
	w := newWorld(t)
	w.place.CPUs = 1
	run := w.job("trap 'echo politely' TERM; echo begun; sleep 100 & wait; exit 0", "out")
	queued := w.job("echo > q", "q")
	w.submit(run, queued)
	w.poll("the job's first word", func() bool {
		b, _ := os.ReadFile(attempt.LogPath(w.place.Workdir, run.Token, 1, false))
		return len(b) > 0
	})
	out, err := w.client.Cancel(context.Background(), w.place, providers.CancelRequest{Fence: 1, Tokens: []string{run.Token, queued.Token, "nobodyknows"}})
	if err != nil || out[0].What != "cancelled" || out[1].What != "cancelled" || out[2].What != "not found" {
		t.Fatalf("%+v %v", out, err)
	}
	got := w.wait(run, queued)
	for _, o := range got {
		if o.Status != offer.Cancelled {
			t.Errorf("%+v", o)
		}
	}
	if tail := strings.Join(got[0].Tail, "|"); !strings.Contains(tail, "begun|politely") {
		t.Errorf("tail: %q", tail)
	}
	out, _ = w.client.Cancel(context.Background(), w.place, providers.CancelRequest{Fence: 1, Tokens: []string{run.Token}})
	if out[0].What != "ended already" {
		t.Errorf("%+v", out)
	}
}

// A file that is not the job's own is found where it starts, whenever it came,
// and stays as it is. It stops nothing else of the phase.
func TestForeignFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	os.WriteFile(w.path("out"), []byte("mine"), 0o644)
	var jobs []providers.Job
	for range 4 {
		j := w.job("echo new > out", "out")
		j.Phase, j.Breaker, j.Guard = "p", providers.Breaker{SameError: 3}, &offer.Guard{}
		j.Retry = providers.Retry{On: []string{"unknown"}, Max: 3}
		jobs = append(jobs, j)
	}
	other := w.job("echo new > other", "other")
	other.Phase, other.Breaker, other.Guard = "p", providers.Breaker{SameError: 3}, &offer.Guard{}
	w.submit(append(jobs, other)...)
	for _, o := range w.wait(jobs...) {
		if o.Status != offer.Failed || o.Class != failure.NotItsOwn || !o.NotRun || o.Attempt != 1 {
			t.Errorf("%+v", o)
		}
	}
	if o := w.wait(other)[0]; o.Status != offer.Completed {
		t.Errorf("another job of the phase: %+v", o)
	}
	if got := w.read("out"); got != "mine" {
		t.Errorf("%q", got)
	}
}

// A launch whose command did not begin made no file: what is there before the next one is
// still somebody else's.
func TestForeignFileAfterNoRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	os.WriteFile(w.path("out"), []byte("mine"), 0o644)
	j := w.job("echo new > out", "out")
	j.Guard, j.Retry = &offer.Guard{}, providers.Retry{On: []string{failure.MissingFile}, Max: 3, Delay: time.Second}
	j.Require = []providers.Require{{Path: "needed"}}
	w.submit(j)
	w.until("the end of the first launch", func() bool { return w.seen[j.Token].Status == offer.Waiting })
	os.WriteFile(w.path("needed"), nil, 0o644)
	if o := w.wait(j)[0]; o.Class != failure.NotItsOwn || o.Attempt != 2 || w.read("out") != "mine" {
		t.Errorf("%+v: %q", o, w.read("out"))
	}
}

// Between two launches of its own a job's leftovers stay its own and are kept apart, and a file
// that somebody puts there does not become its own, also after the queue was
// killed.
func TestForeignFileBetweenLaunches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	left := w.job(`echo $MUSTER_ATTEMPT >> left; test "$MUSTER_ATTEMPT" = 2`, "left")
	meddled := w.job("echo x >> meddled; exit 1", "meddled")
	for _, j := range []*providers.Job{&left, &meddled} {
		j.Guard, j.Retry = &offer.Guard{}, providers.Retry{On: []string{"unknown"}, Max: 3, Delay: 2 * time.Second}
	}
	w.submit(left, meddled)
	w.until("both wait", func() bool { return w.find(left).Status == offer.Waiting && w.find(meddled).Status == offer.Waiting })
	w.kill()
	os.WriteFile(w.path("meddled"), []byte("mine"), 0o644)
	apart := attempt.FailedPath(left.Token, 1) + "/left"
	if o := w.wait(left)[0]; o.Status != offer.Completed || w.read("left") != "2\n" || w.read(apart) != "1\n" {
		t.Errorf("%+v, with %q, and apart %q", o, w.read("left"), w.read(apart))
	}
	if o := w.wait(meddled)[0]; o.Class != failure.NotItsOwn || w.read("meddled") != "mine" {
		t.Errorf("%+v, with %q", o, w.read("meddled"))
	}
}
