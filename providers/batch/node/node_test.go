package node

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

func newSpool(t *testing.T) Spool {
	t.Helper()
	s := Spool(t.TempDir())
	for _, d := range Dirs {
		if err := os.Mkdir(s.path(d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestClaim: of many that start at once one has the claim; a restart of the
// one that has it goes on, once; nobody else ever does.
func TestClaim(t *testing.T) {
	t.Parallel()
	s := newSpool(t)
	take := func(id string, restart int) claim {
		t.Helper()
		c, err := s.take(Begin{Token: "tok", ID: id, Restart: restart})
		if err != nil {
			t.Error(err)
		}
		return c
	}
	var mu sync.Mutex
	var won []string
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			id := fmt.Sprintf("%d_3", i)
			if take(id, 0) == claimed {
				mu.Lock()
				won = append(won, id)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(won) != 1 || s.Claimed("tok") != won[0] {
		t.Fatalf("%v have the claim, and %q is in it", won, s.Claimed("tok"))
	}
	for _, tt := range []struct {
		id      string
		restart int
		want    claim
	}{{won[0], 0, duplicate}, {won[0], 1, claimed}, {won[0], 1, duplicate}, {"99_3", 1, duplicate}, {won[0], 2, claimed}} {
		if got := take(tt.id, tt.restart); got != tt.want {
			t.Errorf("start %d of %s: %v, want %v", tt.restart, tt.id, got, tt.want)
		}
	}
	if err := writeJSON(s.path("ends", RecordName("tok", 2)), End{Final: true}); err != nil {
		t.Fatal(err)
	}
	if got := take(won[0], 3); got != over {
		t.Errorf("a restart after an end for good: %v", got)
	}
}

func TestBatch(t *testing.T) {
	t.Parallel()
	b := Batch(t.TempDir())
	var elements []Element
	for i := range 40 {
		elements = append(elements, Element{Index: i * 3, Job: providers.Job{Token: fmt.Sprintf("%032d", i), Shell: strings.Repeat("x\n", i)}})
	}
	if err := b.Write(elements); err != nil {
		t.Fatal(err)
	}
	for _, e := range elements {
		j, err := b.Job(e.Index)
		if err != nil || j.Token != e.Job.Token || j.Shell != e.Job.Shell {
			t.Errorf("element %d is %+v, %v", e.Index, j, err)
		}
	}
	for _, i := range []int{-1, 1, 118, 10_000} {
		if j, err := b.Job(i); err == nil {
			t.Errorf("element %d is %+v", i, j)
		}
	}
	all, err := b.Read()
	if err != nil || len(all) != 40 || all[39].Job.Token != elements[39].Job.Token {
		t.Errorf("%d elements, %v", len(all), err)
	}
}

// A world is a batch of one job and what starts of it come to.
type world struct {
	*testing.T
	spool Spool
	batch Batch
	dir   string
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, spool: newSpool(t), dir: t.TempDir()}
	w.batch = Batch(w.spool.path("batches", "b"))
	if err := os.Mkdir(string(w.batch), 0o700); err != nil {
		t.Fatal(err)
	}
	return w
}

// job has a token of its own: what carries a token ends with its job, also
// where it belongs to another test.
func (w *world) job(command string, outputs ...string) providers.Job {
	j := providers.Job{Token: rand.Text(), Address: "phase.x", Phase: "x", Attempt: 1, Shell: command, Workdir: w.dir, Dir: w.dir,
		Shape: offer.Shape{CPUs: 1, Walltime: time.Hour}, Grace: time.Second}
	for _, o := range outputs {
		j.Outputs = append(j.Outputs, providers.Output{Name: "r", Kind: "path", Path: o, Verify: []providers.VerifyCheck{{Kind: "json"}}})
	}
	return j
}

// run is one start of a job; code is its exit status for Slurm.
func (w *world) run(j providers.Job, p allocation) (code int, e End) {
	w.Helper()
	if err := w.batch.Write([]Element{{Job: j}}); err != nil {
		w.Fatal(err)
	}
	if p.scheduler == nil {
		p.scheduler = cluster.Node{}
	}
	code, err := run(w.batch, p, p.element())
	if err != nil {
		w.Log(err)
	}
	e, _ = w.spool.ReadEnd(j.Token, p.restart)
	return code, e
}

func (w *world) ran() int {
	b, _ := os.ReadFile(filepath.Join(w.dir, "ran"))
	return strings.Count(string(b), "\n")
}

func TestVerified(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]struct {
		code   int
		status offer.Status
	}{
		`echo '{}' > r.json`:          {0, offer.Completed},
		`printf '{"a": ' > r.json`:    {1, offer.Failed},
		`true`:                        {1, offer.Failed},
		`echo '{}' > r.json; exit 42`: {42, offer.Failed},
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			code, e := w.run(w.job(command, "r.json"), allocation{job: "5", node: "n1"})
			if code != want.code || e.Seen.Status != want.status || !e.Final || e.Seen.Node != "n1" || e.ID != "5" {
				t.Errorf("status %d, %+v", code, e)
			}
		})
	}
}

// TestSiteExits: a status that the site requeues or holds jobs for does not
// reach Slurm; it is in the record all the same.
func TestSiteExits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.batch.WriteBounds(scheduler.Bounds{Requeue: []int{98, 99}}); err != nil {
		t.Fatal(err)
	}
	for exit, want := range map[int]int{98: 1, 99: 1, 97: 97} {
		if code, e := w.run(w.job(fmt.Sprintf("exit %d", exit)), allocation{job: fmt.Sprint(exit)}); code != want || e.Seen.Exit == nil || *e.Seen.Exit != exit {
			t.Errorf("exit %d: Slurm sees %d, the record has %+v", exit, code, e.Seen)
		}
	}
}

// TestStale: what was there before the job is not its output, and a second
// Slurm job does not run it again.
func TestStale(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := os.WriteFile(filepath.Join(w.dir, "r.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	j := w.job("echo >> ran", "r.json")
	if code, e := w.run(j, allocation{job: "5"}); code == 0 || !strings.Contains(strings.Join(e.Seen.Tail, " "), "stale") {
		t.Errorf("status %d, %+v", code, e)
	}
	if code, _ := w.run(j, allocation{job: "6"}); code != ExitRefused || w.ran() != 1 {
		t.Errorf("a second job ended with %d; the command ran %d times", code, w.ran())
	}
	if d := w.spool.Duplicates(j.Token); len(d) != 1 || d[0] != "6" {
		t.Errorf("duplicates are %v", d)
	}
}

// TestRefused: nothing runs that comes after what did not complete, whose
// phase is stopped, or that was cancelled; and no claim is spent on it.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(w *world, j *providers.Job){
		"after a failure":   func(w *world, j *providers.Job) { j.After = []string{"before"}; w.end("before", offer.Failed) },
		"after the unknown": func(w *world, j *providers.Job) { j.After = []string{"before"} },
		"stopped": func(w *world, j *providers.Job) {
			atomicfile.Write(w.spool.path("stop.x"), []byte("too many errors\n"), 0o600)
		},
		"cancelled": func(w *world, j *providers.Job) { atomicfile.Write(w.spool.path("cancels", j.Token), nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			j := w.job("echo >> ran")
			make(w, &j)
			code, e := w.run(j, allocation{job: "5"})
			if code != ExitRefused || e.Seen.Status != offer.Cancelled || e.Refused == "" || w.ran() != 0 || w.spool.Claimed(j.Token) != "" {
				t.Errorf("status %d, %+v", code, e)
			}
		})
	}
	w := newWorld(t)
	j := w.job("echo >> ran")
	j.After = []string{"before"}
	w.end("before", offer.Completed)
	if code, e := w.run(j, allocation{job: "5"}); code != 0 || w.ran() != 1 {
		t.Errorf("after what completed: status %d, %+v", code, e)
	}
}

func (w *world) end(token string, s offer.Status) {
	w.Helper()
	if err := writeJSON(w.spool.path("ends", RecordName(token, 0)), End{Final: true, Seen: offer.Observation{Token: token, Status: s}}); err != nil {
		w.Fatal(err)
	}
}

// TestRetriedWhereTheClockIsBehind: a launch waits no longer than its retry's
// delay, whenever the node of the one before says that it ended.
func TestRetriedWhereTheClockIsBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job("echo >> ran")
	j.Retry = providers.Retry{On: []string{failure.OOM}, Max: 2, Delay: 20 * time.Millisecond}
	first := Begin{Token: j.Token, ID: "5"}
	if _, err := w.spool.take(first); err != nil {
		t.Fatal(err)
	}
	e := End{Begin: first, Seen: offer.Observation{Token: j.Token, Status: offer.Failed, Ended: time.Now().Add(24 * time.Hour)}}
	if err := writeJSON(w.spool.path("ends", RecordName(j.Token, 0)), e); err != nil {
		t.Fatal(err)
	}
	if code, _ := w.run(j, allocation{job: "5", restart: 1}); code != 0 || w.ran() != 1 {
		t.Errorf("ended with %d; the command ran %d times", code, w.ran())
	}
}

// TestRestarted: a start that Slurm repeats by itself counts as a launch, and
// is made only where the policy says so.
func TestRestarted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		retry providers.Retry
		code  int
	}{
		"allowed":        {providers.Retry{On: []string{failure.Preempted}, Max: 2}, 0},
		"not in retry":   {providers.Retry{On: []string{failure.OOM}, Max: 2}, ExitRefused},
		"no launch left": {providers.Retry{On: []string{failure.Preempted}, Max: 1}, ExitRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			j := w.job("echo >> ran")
			j.Retry = tt.retry
			if _, err := w.spool.take(Begin{Token: j.Token, ID: "5"}); err != nil { // the start that was preempted
				t.Fatal(err)
			}
			code, e := w.run(j, allocation{job: "5", restart: 1})
			if code != tt.code || code == 0 && (w.ran() != 1 || e.Seen.Attempt != 2) {
				t.Errorf("status %d, ran %d times, %+v", code, w.ran(), e)
			}
			if first, err := w.spool.ReadEnd(j.Token, 0); code != 0 && (err != nil || first.Seen.Class != failure.Preempted || !first.Final) {
				t.Errorf("the first start's end is %+v, %v", first, err)
			}
		})
	}
}

// TestNotLaunchedBefore: starts that Slurm counts and could not launch ran
// nothing; the first that comes to run does, once, and what comes after it knows.
func TestNotLaunchedBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job("echo >> ran")
	j.Retry = providers.Retry{On: []string{failure.OOM}, Max: 2}
	if code, e := w.run(j, allocation{job: "5", restart: 2}); code != 0 || w.ran() != 1 || e.Seen.Attempt != 3 {
		t.Errorf("status %d, ran %d times, %+v", code, w.ran(), e)
	}
	if e, ok := w.spool.LastEnd(j.Token); !ok || !e.Completed() {
		t.Errorf("its last end is %+v", e)
	}
	for _, again := range []struct {
		allocation
		want int
	}{{allocation{job: "5", restart: 2}, 0}, {allocation{job: "5", restart: 3}, 0}, {allocation{job: "6", restart: 2}, ExitRefused}} {
		if code, _ := w.run(j, again.allocation); code != again.want || w.ran() != 1 {
			t.Errorf("start %d of %s: status %d, want %d, and it ran %d times", again.restart, again.job, code, again.want, w.ran())
		}
	}
}

// TestBreaker: as many equal errors in a row as its policy says stop the phase; a completed
// job between them resets the count.
func TestBreaker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := func(id, command string) {
		t.Helper()
		j := w.job(command)
		j.Breaker = providers.Breaker{SameError: 3}
		w.run(j, allocation{job: id})
	}
	run("aa1", "echo no licence >&2; exit 3")
	run("aa2", "echo no licence >&2; exit 3")
	run("aa3", "true")
	run("aa4", "echo no licence >&2; exit 3")
	run("aa5", "echo no licence >&2; exit 3")
	if why := w.spool.Stopped("x"); why != "" {
		t.Fatalf("stopped too early: %s", why)
	}
	run("aa6", "echo no licence >&2; exit 3")
	if why := w.spool.Stopped("x"); !strings.Contains(why, "3 times in a row") || !strings.Contains(why, "no licence") {
		t.Errorf("stopped with %q", why)
	}
	if why := w.spool.Stopped("y"); why != "" {
		t.Errorf("another phase is stopped: %s", why)
	}
}

// A node finds a file that is not the job's own, and leaves it as it is. What
// the start before it left is its own.
func TestForeignFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := filepath.Join(w.dir, "out")
	os.WriteFile(path, []byte("mine"), 0o644)
	j := w.job("echo '{}' > out", "out")
	j.Guard = &offer.Guard{}
	code, e := w.run(j, allocation{job: "1", node: "n1"})
	if got, _ := os.ReadFile(path); code == 0 || e.Seen.Class != failure.NotItsOwn || !e.Seen.NotRun || string(got) != "mine" {
		t.Errorf("code %d, %+v, the file holds %q", code, e.Seen, got)
	}
	j = w.job("echo x >> again; exit 1", "again")
	j.Guard = &offer.Guard{}
	if _, e = w.run(j, allocation{job: "2", node: "n1"}); len(e.Seen.Outputs) != 1 || !e.Seen.Outputs[0].Exists() {
		t.Errorf("what it left is not in its record: %+v", e.Seen)
	}
}

// TestUnverified: what passes the bound of its verification on a node has ended
// for good, and is not requeued whatever its policy names.
func TestUnverified(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job("truncate -s 1T out", "out")
	j.Outputs[0].VerifyMaxSize = 1 << 30
	j.Retry = providers.Retry{On: []string{failure.BadOutput, failure.Unknown}, Max: 3}
	code, e := w.run(j, allocation{job: "7"})
	if code == 0 || !e.Final || e.Seen.Status != offer.Failed || e.Seen.Class != failure.Unverified || !e.Seen.Outputs[0].Unverified {
		t.Errorf("%d %+v", code, e)
	}
}

// TestUmask: the job, its folders and its logs are as whoever submitted it has
// them, not as the node's daemon does.
func TestUmask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job("echo said; echo {} > sub/out", "sub/out")
	umask := 0o027
	j.Umask = &umask
	if code, e := w.run(j, allocation{job: "7"}); code != 0 {
		t.Fatalf("%d %+v", code, e)
	}
	for path, want := range map[string]os.FileMode{
		filepath.Join(j.Workdir, "sub"): 0o750, filepath.Join(j.Workdir, "sub/out"): 0o640, attempt.LogPath(j.Workdir, j.Token, 1, false): 0o600,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %o", path, info.Mode(), err, want)
		}
	}
}
