package host

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/kernel"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/hosttest"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/host/spool"
	"github.com/muster-run/muster/providers/offer"
)

// A world is a spool with its queue, a workdir and a client.
type world struct {
	t      testing.TB
	dir    string
	place  Tenant
	client *Client
	cursor string
	seen   map[string]offer.Observation // the last of each token
	all    []offer.Observation
	notes  []providers.Note
}

func newWorld(t testing.TB) *world {
	dir, err := os.MkdirTemp("", "mq")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, seen: map[string]offer.Observation{}}
	spool := filepath.Join(dir, "s")
	w.place = Tenant{Lineage: "lin", Campaign: "c", Backend: "local.local", Workdir: filepath.Join(dir, "w"), Settings: machine.Settings{CPUs: 4}}
	os.MkdirAll(w.place.Workdir, 0o755)
	w.client = NewClient(Options{Spool: spool, Command: []string{self(t)}, Env: []string{beQueue + "=1"}, Idle: 2 * time.Second})
	t.Cleanup(func() {
		w.client.Close()
		w.kill()
		w.killJobs()
		if said, _ := os.ReadFile(filepath.Join(spool, "queue.err")); len(said) > 0 {
			t.Errorf("the queue said:\n%s", said)
		}
		os.RemoveAll(dir)
	})
	return w
}

func self(t testing.TB) string {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// queuePID is the process that holds the spool, 0 if none does.
func (w *world) queuePID() process.ID { return spool.Holder(filepath.Join(w.dir, "s")) }

// kill ends the queue at once, and waits until it is gone.
func (w *world) kill() { hosttest.Kill(w.t, filepath.Join(w.dir, "s")) }

// killJobs ends what a test that failed has left running.
func (w *world) killJobs() {
	for _, pid := range process.All() {
		if job, ok := process.Variable(kernel.Environ(pid), "MUSTER_JOB"); ok && strings.HasPrefix(job, w.dir+"/") {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func token() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// job makes a job that runs a shell command; outputs are paths.
func (w *world) job(command string, outputs ...string) providers.Job {
	j := providers.Job{Token: token(), Address: "phase.p", Phase: "p", Name: "p", Attempt: 1, Shell: command, Workdir: w.place.Workdir,
		Dir: w.place.Workdir, Shape: offer.Shape{CPUs: 1, Nodes: 1}, Grace: time.Second}
	j.ResultHash = j.Token
	for i, o := range outputs {
		j.Outputs = append(j.Outputs, providers.Output{Name: "o" + strconv.Itoa(i), Kind: "path", Path: o})
	}
	return j
}

// broken makes jobs of one phase that fail with the same command, behind a breaker
// that opens after three, and a good job of another phase that comes after them.
func (w *world) broken(n int, command string) (jobs []providers.Job, other providers.Job) {
	for range n {
		j := w.job(command, "out")
		j.Breaker = providers.Breaker{SameError: 3}
		jobs = append(jobs, j)
	}
	other = w.job("echo > other", "other")
	other.Phase = "q"
	return jobs, other
}

var testEnviron = []providers.EnvVar{{Name: "PATH", Value: os.Getenv("PATH")}}

func (w *world) submit(jobs ...providers.Job) {
	w.t.Helper()
	res, err := w.client.Submit(context.Background(), w.place, testEnviron, providers.SubmitRequest{Fence: 1, Jobs: jobs})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range res {
		if r.Err != nil {
			w.t.Fatal(r.Err)
		}
	}
}

// inTime is a world in which a job has ended that has a limit, once its program had
// made some files. A machine that was too busy to let it make them within the limit
// shows nothing of what the limit does: the job gets longer then.
func inTime(t *testing.T, files []string, job func(w *world, limit time.Duration) providers.Job) (*world, offer.Observation) {
	t.Helper()
	for limit := 1500 * time.Millisecond; ; limit *= 3 {
		w := newWorld(t)
		j := job(w, limit)
		w.submit(j)
		o := w.wait(j)[0]
		late := slices.ContainsFunc(files, func(f string) bool {
			_, err := os.Stat(w.path(f))
			return err != nil
		})
		if !late || limit > 10*time.Second {
			return w, o
		}
	}
}

var errEnough = errors.New("enough")

// until watches until the condition holds.
func (w *world) until(what string, done func() bool) {
	w.t.Helper()
	if done() {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), 60*time.Second)
	defer stop()
	err := w.client.Watch(ctx, w.place, providers.WatchRequest{Cursor: w.cursor, Ack: w.cursor}, func(b providers.Batch) error {
		w.cursor = b.Cursor
		w.notes = append(w.notes, b.Notes...)
		for _, o := range b.Events {
			w.seen[o.Token] = o
			w.all = append(w.all, o)
		}
		if done() {
			return errEnough
		}
		return nil
	})
	if err != errEnough {
		w.t.Fatalf("waiting for %s: %v\n%s", what, err, w.unfinished())
	}
}

// poll waits for something that the queue does not tell.
func (w *world) poll(what string, done func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("%s never came", what)
		}
	}
}

// unfinished is the observations of jobs that have not ended, for a failure's
// text.
func (w *world) unfinished() string {
	var b strings.Builder
	log, _ := os.ReadFile(filepath.Join(w.client.Spool, "log"))
	for t, o := range w.seen {
		switch o.Status {
		case offer.Completed, offer.Failed, offer.Cancelled:
			continue
		}
		fmt.Fprintf(&b, "%+v\n", o)
		for line := range strings.Lines(string(log)) {
			if strings.Contains(line, t) {
				b.WriteString("  log: " + line)
			}
		}
		files, _ := filepath.Glob(filepath.Join(w.client.Spool, "jobs", t+"*", "*"))
		for _, f := range files {
			text, _ := os.ReadFile(f)
			fmt.Fprintf(&b, "  %s: %q\n", f, text)
		}
	}
	said, _ := os.ReadFile(filepath.Join(w.client.Spool, "queue.err"))
	return b.String() + string(said)
}

// wait watches until the jobs have ended, and returns how.
func (w *world) wait(jobs ...providers.Job) []offer.Observation {
	w.t.Helper()
	w.until("the jobs to end", func() bool {
		for _, j := range jobs {
			switch w.seen[j.Token].Status {
			case offer.Completed, offer.Failed, offer.Cancelled:
			default:
				return false
			}
		}
		return true
	})
	var out []offer.Observation
	for _, j := range jobs {
		out = append(out, w.seen[j.Token])
	}
	return out
}

func (w *world) path(name string) string { return filepath.Join(w.place.Workdir, name) }

func (w *world) read(name string) string {
	b, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// field is a number after a name in a /proc status file.
func field(text, name string) (n int) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, _ = strconv.Atoi(strings.Fields(rest)[0])
		}
	}
	return n
}
