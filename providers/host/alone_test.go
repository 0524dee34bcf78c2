package host

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// alone hands jobs over, leaves, and looks again only when a file is there
// that the jobs make. What happened in between, the queue did alone.
func (w *world) alone(file string, jobs ...providers.Job) {
	w.t.Helper()
	w.submit(jobs...)
	w.client.Close()
	w.poll(file, func() bool {
		_, err := os.Stat(w.path(file))
		return err == nil
	})
}

// find is the current observation of a job.
func (w *world) find(j providers.Job) offer.Observation {
	w.t.Helper()
	found, err := w.client.Find(context.Background(), w.place, []string{j.Token})
	if err != nil {
		w.t.Fatal(err)
	}
	return found[0]
}

// With muster off: edges, released only when what is before them is verified.
func TestAloneEdges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.job("echo '{}' > a.json", "a.json")
	a.Outputs[0].Verify = []providers.VerifyCheck{{Kind: "json"}}
	b := w.job("cat a.json > b", "b")
	b.After = []string{a.Token}
	broken := w.job("echo '{' > c.json", "c.json") // exits 0
	broken.Outputs[0].Verify = []providers.VerifyCheck{{Kind: "json"}}
	never := w.job("echo > never", "never")
	never.After = []string{broken.Token}
	both := w.job("echo > both", "both")
	both.After = []string{b.Token, broken.Token}
	last := w.job("echo > last", "last")
	last.After = []string{b.Token}
	w.alone("last", last, both, never, broken, b, a)
	got := w.wait(a, b, broken, last)
	for i, want := range []offer.Status{offer.Completed, offer.Completed, offer.Failed, offer.Completed} {
		if got[i].Status != want {
			t.Errorf("job %d: %+v", i, got[i])
		}
	}
	for _, o := range w.wait(never, both) {
		if !o.GivenUp() {
			t.Errorf("after one that failed: %+v", o)
		}
	}
}

// With muster off: retries of the classes that the policy names, after its
// delay, so often and no more, with more memory; and what comes after waits.
func TestAloneRetries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job(`date +%s%N >> tries; [ "$MUSTER_ATTEMPT" = 3 ] || { echo MemoryError >&2; exit 1; }; echo > out`, "out")
	j.Shape.Memory = 1 << 20
	j.Retry = providers.Retry{On: []string{"oom"}, Max: 3, Delay: 300 * time.Millisecond, Scale: map[string]providers.Scale{"oom_host": {Memory: 2}}}
	last := w.job("echo > last", "last")
	last.After = []string{j.Token}
	other := w.job("echo x >> others; exit 3", "other") // of a class that is not named
	other.Retry = j.Retry
	w.alone("last", last, j, other)
	if got := w.wait(j, last, other); got[0].Attempt != 3 || got[1].Status != offer.Completed || got[2].Attempt != 1 {
		t.Errorf("%+v", got)
	}
	if got := w.read("others"); got != "x\n" {
		t.Errorf("a class that is not named: %q", got)
	}
	var at []int64
	for line := range strings.Lines(w.read("tries")) {
		var ns int64
		fmt.Sscan(line, &ns)
		at = append(at, ns)
	}
	if len(at) != 3 || at[1]-at[0] < int64(j.Retry.Delay) || at[2]-at[1] < int64(j.Retry.Delay) {
		t.Errorf("tried at %v", at)
	}
	var waits []string
	for _, o := range w.all {
		if o.Token == j.Token && o.Status == offer.Waiting {
			waits = append(waits, fmt.Sprint(o.Attempt, o.Class))
		}
	}
	if !slices.Equal(waits, []string{"1oom_host", "2oom_host"}) {
		t.Errorf("the attempts that failed: %q", waits)
	}
}

// With muster off: more memory than there is is not waited for.
func TestAloneScaleIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.place.Memory = 4 << 20
	j := w.job(`echo x >> tries; echo > at.$MUSTER_ATTEMPT; echo MemoryError >&2; exit 1`, "out")
	j.Shape.Memory = 3 << 20
	j.Retry = providers.Retry{On: []string{"oom"}, Max: 9, Scale: map[string]providers.Scale{"oom": {Memory: 2}}}
	w.alone("at.2", j)
	if o := w.wait(j)[0]; o.Attempt != 2 || !strings.Contains(o.Reason, "more than this machine has") {
		t.Errorf("%+v", o)
	}
}

// With muster off: a breaker opens, and says so later.
func TestAloneBreaker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.place.CPUs = 1
	jobs, other := w.broken(5, "echo x >> tries; echo 'ValueError: bad shape' >&2; exit 1")
	w.alone("other", append(jobs, other)...)
	w.wait(append(jobs[:3:3], other)...)
	if got := w.read("tries"); got != "x\nx\nx\n" {
		t.Errorf("tries: %q", got)
	}
	if len(w.notes) != 1 || w.notes[0].Kind != "breaker" {
		t.Errorf("notes: %+v", w.notes)
	}
	if o := w.find(jobs[4]); o.Status != offer.Queued || !strings.Contains(o.Reason, "breaker of phase p") {
		t.Errorf("%+v", o)
	}
}

// With muster off: a phase whose program is not there stops after two jobs, also
// when the queue dies between them.
func TestAloneCrashAlike(t *testing.T) {
	t.Parallel()
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprintf("dies=%v", dies), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.place.CPUs = 1
			jobs, other := w.broken(5, "echo x >> tries; no-such-program")
			if dies {
				w.submit(jobs[0])
				w.wait(jobs[0])
				w.kill()
			}
			w.alone("other", append(jobs, other)...)
			w.wait(jobs[0], jobs[1], other)
			if got := w.read("tries"); got != "x\nx\n" {
				t.Errorf("tries: %q", got)
			}
			if len(w.notes) != 1 || w.notes[0].Kind != "breaker" || !strings.Contains(w.notes[0].Text, "all jobs crash with the same error") {
				t.Errorf("notes: %+v", w.notes)
			}
			w.kill()
			if o := w.find(jobs[4]); o.Status != offer.Queued || !strings.Contains(o.Reason, "breaker of phase p") {
				t.Errorf("%+v", o)
			}
		})
	}
}

// With muster off: jobs that are flaky side by side stop nothing; what counts
// is how they end.
func TestAloneBreakerLeavesFlakyJobsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.place.CPUs = 4
	var jobs []providers.Job
	last := w.job("echo > last", "last")
	last.Phase = "q"
	for i := range 4 {
		out := fmt.Sprint("o", i)
		j := w.job(`[ "$MUSTER_ATTEMPT" = 3 ] || { echo 'ValueError: no licence' >&2; exit 75; }; echo > `+out, out)
		j.Retry = providers.Retry{On: []string{"unknown"}, Max: 3}
		j.Breaker = providers.Breaker{SameError: 3, Share: 0.15}
		jobs = append(jobs, j)
		last.After = append(last.After, j.Token)
	}
	w.alone("last", append(jobs, last)...)
	for _, o := range w.wait(jobs...) {
		if o.Status != offer.Completed || o.Attempt != 3 {
			t.Errorf("%+v", o)
		}
	}
	if len(w.notes) != 0 {
		t.Errorf("notes: %+v", w.notes)
	}
}

// With muster off: a job that is started again and again with the same error
// stops its phase.
func TestAloneBreakerEndsARunaway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job("echo x >> tries; echo 'ValueError: no licence' >&2; exit 75", "out")
	j.Retry = providers.Retry{On: []string{"unknown"}, Max: 20}
	j.Breaker = providers.Breaker{SameError: 3}
	other := w.job("while [ $(grep -c x tries) -lt 3 ]; do sleep 0.1; done; sleep 1; echo > other", "other")
	other.Phase = "q"
	w.place.CPUs = 4
	w.alone("other", j, other)
	w.wait(other)
	if got := w.read("tries"); got != "x\nx\nx\n" {
		t.Errorf("tries: %q", got)
	}
	if len(w.notes) != 1 || w.notes[0].Kind != "breaker" || !strings.Contains(w.notes[0].Text, "the same error 3 times in a row") {
		t.Errorf("notes: %+v", w.notes)
	}
}

// With muster off: a phase's cap holds.
func TestAlonePhaseCap(t *testing.T) {
	// Requirement: ARR-01
	t.Parallel()
	w := newWorld(t)
	w.place.CPUs = 8
	var jobs []providers.Job
	last := w.job("echo > last", "last")
	for i := range 6 {
		out := fmt.Sprint("o", i)
		j := w.job("echo + >> record; while [ $(grep -c + record) -lt 2 ]; do sleep 0.1; done; sleep 0.1; echo - >> record; echo > "+out, out)
		j.Cap = 2
		jobs = append(jobs, j)
		last.After = append(last.After, j.Token)
	}
	w.alone("last", append(jobs, last)...)
	if got := most(t, w.read("record")); got != 2 {
		t.Errorf("%d ran at once, want 2", got)
	}
}

// A walltime that was hit is tried again as long as the checkpoint moves.
func TestWalltimeIsRetriedIfTheCheckpointMoved(t *testing.T) {
	// Requirement: RES-07, SPT-10, WT-03
	t.Parallel()
	_, o := inTime(t, []string{"at.1", "at.2"}, func(w *world, limit time.Duration) providers.Job {
		j := w.job(`[ "$MUSTER_ATTEMPT" = 3 ] || echo "$MUSTER_ATTEMPT" > "$MUSTER_CHECKPOINT"; echo > at.$MUSTER_ATTEMPT; sleep 100`, "out")
		j.Checkpoint = providers.Checkpoint{Path: "ck/latest"}
		j.Shape.Walltime = limit
		j.Retry = providers.Retry{On: []string{"walltime"}, Max: 9}
		return j
	})
	if o.Class != "walltime" || o.Attempt != 3 || !strings.Contains(o.Reason, "no checkpoint has moved") {
		t.Errorf("%+v", o)
	}
}

// A delay outlives the queue that began it.
func TestDelayOutlivesTheQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job(`date +%s%N >> tries; [ "$MUSTER_ATTEMPT" = 2 ] || kill -9 $$; echo > out`, "out")
	j.Retry = providers.Retry{On: []string{"killed"}, Max: 2, Delay: 700 * time.Millisecond}
	w.submit(j)
	w.until("the delay", func() bool { return w.seen[j.Token].Status == offer.Waiting })
	w.kill()
	if o := w.wait(j)[0]; o.Status != offer.Completed || o.Attempt != 2 {
		t.Fatalf("%+v", o)
	}
	var first, second int64
	fmt.Sscan(w.read("tries"), &first, &second)
	if gap := time.Duration(second - first); gap < j.Retry.Delay {
		t.Errorf("tried again after %v", gap)
	}
}

// Between two launches a job has the outcome of its last launch, also for an
// engine that was killed, asks then for the first time, and pays for it.
func TestFindBetweenLaunches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job("kill -9 $$", "out")
	j.Retry = providers.Retry{On: []string{"killed"}, Max: 2, Delay: time.Hour}
	w.submit(j)
	w.until("the end of the first launch", func() bool { return w.seen[j.Token].Status == offer.Waiting })
	for _, when := range []string{"at once", "after the queue was killed"} {
		o := w.find(j)
		if o.Status != offer.Waiting || o.Attempt != 1 || o.Class != "killed" || o.Usage == nil || o.Ended.IsZero() || o.Expected.IsZero() {
			t.Errorf("%s: %+v", when, o)
		}
		w.kill()
	}
}
