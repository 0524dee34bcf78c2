package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// outlived is the process of a launch that the scheduler gave up. It ends when there is a file
// go, and on TERM.
func (w *world) outlived(token, node string) (Begin, *exec.Cmd) {
	w.Helper()
	c := exec.Command("sh", "-c", "trap 'echo > told; exit' TERM; echo > ready; while [ ! -e go ]; do sleep 0.05; done")
	c.Dir = w.dir
	if err := c.Start(); err != nil {
		w.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- c.Wait() }()
	w.Cleanup(func() { c.Process.Kill(); <-gone })
	w.until("it begins", func() bool { _, err := os.Stat(filepath.Join(w.dir, "ready")); return err == nil })
	b := Begin{Token: token, ID: "5", Node: node, At: time.Now(), Process: self(c.Process.Pid)}
	if got, err := w.spool.take(b); got != claimed || err != nil {
		w.Fatal(got, err)
	}
	if err := writeJSON(w.spool.path("starts", RecordName(token, 0)), b); err != nil {
		w.Fatal(err)
	}
	return b, c
}

func (w *world) until(what string, done func() bool) {
	w.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("never: %s", what)
		}
	}
}

// A launch that the scheduler gave up and that still runs here is not joined by another: its end
// is that of the job, however it ends.
func TestALaunchOutlivesItsScheduler(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end   *End
		code  int
		ran   int
		final bool
	}{
		"completes":        {&End{Final: true, Seen: offer.Observation{Status: offer.Completed}}, 0, 0, true},
		"fails":            {&End{Final: true, Seen: offer.Observation{Status: offer.Failed, Class: "nan"}}, 1, 0, true},
		"ends by a signal": {&End{Outside: true, Seen: offer.Observation{Status: offer.Failed}}, 0, 1, true},
		"leaves no end":    {nil, 0, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			j := w.job("echo >> ran")
			j.Retry.On, j.Retry.Max = []string{"preempted"}, 2
			begin, _ := w.outlived(j.Token, "n1")
			type result struct {
				code int
				end  End
			}
			over := make(chan result, 1)
			go func() {
				code, e := w.run(j, allocation{job: "5", node: "n1", restart: 1})
				over <- result{code, e}
			}()
			w.until("it follows", func() bool { return len(w.spool.Duplicates(j.Token)) == 1 })
			if len(over) != 0 || w.ran() != 0 {
				t.Fatal("the job runs twice at once")
			}
			if tt.end != nil {
				tt.end.Begin = begin
				if err := w.spool.made(*tt.end); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(w.dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if r := <-over; r.code != tt.code || w.ran() != tt.ran {
				t.Errorf("it ended with %d, want %d; the command ran %d times", r.code, tt.code, w.ran())
			}
			if e, ok := w.spool.LastEnd(j.Token); !ok || e.Final != tt.final {
				t.Errorf("the end is %+v", e)
			}
		})
	}
}

// A launch of a job that muster gave up ends before the job that replaces it begins.
func TestALaunchOutlivesItsJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old, j := w.job("true"), w.job("echo >> ran; [ -e told ]")
	_, c := w.outlived(old.Token, "n1")
	j.Guard = &offer.Guard{Before: old.Token + ".1"}
	if code, e := w.run(j, allocation{job: "6", node: "n1"}); code != 0 || w.ran() != 1 {
		t.Errorf("it ended with %d: %+v; the command ran %d times", code, e, w.ran())
	}
	if c.Process.Signal(syscall.Signal(0)) == nil {
		t.Error("the launch of the job before it still runs")
	}
}

// Elsewhere a start waits for the launch before it, takes its end if it ended by itself, and runs
// the job if it made place.
func TestALaunchOutlivesItsNode(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end  End
		code int
		ran  int
	}{
		"completes":   {End{Final: true, Seen: offer.Observation{Status: offer.Completed}}, 0, 0},
		"fails":       {End{Final: true, Seen: offer.Observation{Status: offer.Failed, Class: "nan"}}, 1, 0},
		"makes place": {End{Outside: true, Seen: offer.Observation{Status: offer.Failed}}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			j := w.job("echo >> ran")
			j.Retry.On, j.Retry.Max = []string{"preempted"}, 2
			begin, _ := w.outlived(j.Token, "n2")
			type result struct {
				code int
				end  End
			}
			over := make(chan result, 1)
			go func() {
				code, e := w.run(j, allocation{job: "5", node: "n1", restart: 1})
				over <- result{code, e}
			}()
			w.until("it claims the job", func() bool { return w.spool.nextClaim(j.Token, 0) > 0 })
			if len(over) != 0 || w.ran() != 0 {
				t.Fatal("the job runs twice at once")
			}
			tt.end.Begin = begin
			if err := w.spool.made(tt.end); err != nil {
				t.Fatal(err)
			}
			r := <-over
			if r.code != tt.code || w.ran() != tt.ran {
				t.Errorf("it ended with %d, want %d; the command ran %d times", r.code, tt.code, w.ran())
			}
			if failed := tt.end.Seen.Class; failed != "" && r.end.Seen.Class != failed {
				t.Errorf("this start's end is %+v", r.end)
			}
		})
	}
}

// A launch whose job started elsewhere, was cancelled or was submitted again ends its command.
func TestALaunchIsSuperseded(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]func(w *world, token string) error{
		"started elsewhere": func(w *world, token string) error {
			got, err := w.spool.take(Begin{Token: token, ID: "5", Node: "n2", Restart: 1})
			if got != claimed {
				return fmt.Errorf("claim %v, %w", got, err)
			}
			return err
		},
		"cancelled": func(w *world, token string) error {
			return atomicfile.Write(w.spool.path("cancels", token), nil, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			j := w.job("echo >> ran; sleep 600")
			codes := make(chan int, 1)
			go func() {
				code, _ := w.run(j, allocation{scheduler: cluster.Node{}, job: "5", node: "n1"})
				codes <- code
			}()
			w.until("it runs", func() bool { return w.ran() == 1 })
			if err := by(w, j.Token); err != nil {
				t.Fatal(err)
			}
			select {
			case code := <-codes:
				if code == 0 {
					t.Error("it completed")
				}
			case <-time.After(time.Minute):
				t.Fatal("its command goes on")
			}
			if e, err := w.spool.ReadEnd(j.Token, 0); err != nil || e.Completed() {
				t.Errorf("its end: %+v, %v", e, err)
			}
		})
	}
}
