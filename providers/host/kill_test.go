package host

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/kernel"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/host/wire"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
)

// TestKilledAtRandom kills the queue, and in the second case wrappers, too,
// at random instants while short jobs run, and compares what the jobs
// themselves wrote down with what the queue says of them. With
// MUSTER_NIGHTLY=1 it does so at length.
func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		wrappers bool
	}{{"queue", false}, {"queue and wrappers", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			kills := int64(25)
			switch {
			case os.Getenv("MUSTER_NIGHTLY") == "1":
				kills = 1000
			case testing.Short():
				kills = 15
			}
			w := newWorld(t)
			var done atomic.Bool
			var killed atomic.Int64
			killer := make(chan struct{})
			go func() {
				defer close(killer)
				for killed.Load() < kills && !done.Load() {
					if rand.IntN(2) == 0 { // else maybe as it starts
						for up, _ := w.client.Running(); !up && !done.Load(); up, _ = w.client.Running() {
							time.Sleep(time.Millisecond)
						}
					}
					time.Sleep(time.Duration(rand.IntN(120)) * time.Millisecond)
					if c.wrappers && rand.IntN(2) == 0 {
						if killWrapper(w) {
							killed.Add(1)
						}
						continue
					}
					if p := w.queuePID(); p.Alive() {
						syscall.Kill(p.PID, syscall.SIGKILL)
						killed.Add(1)
					}
				}
			}()
			var jobs []providers.Job
			for killed.Load() < kills {
				var batch []providers.Job
				for range 20 {
					j := w.job("", "")
					out := "out/" + j.Token
					j.Outputs[0].Path = out
					j.Shell = fmt.Sprintf(`echo "start $MUSTER_TOKEN $MUSTER_RESTART" >> record; sleep 0.0%d; echo x > %s; echo "end $MUSTER_TOKEN $MUSTER_RESTART" >> record`,
						rand.IntN(90)+10, out)
					batch = append(batch, j)
				}
				w.submit(batch...)
				jobs = append(jobs, batch...)
				w.wait(batch...)
			}
			done.Store(true)
			<-killer
			t.Logf("%d kills, %d jobs", killed.Load(), len(jobs))
			agree(t, w, jobs, c.wrappers)
		})
	}
}

// agree compares the jobs' own record with the queue's word.
func agree(t *testing.T, w *world, jobs []providers.Job, mayFail bool) {
	starts, ends := map[string]int{}, map[string]int{}
	for line := range strings.Lines(w.read("record")) {
		f := strings.Fields(line)
		switch f[0] {
		case "start":
			starts[f[1]]++
		case "end":
			ends[f[1]]++
		}
	}
	failed := 0
	for _, j := range jobs {
		o := w.seen[j.Token]
		switch {
		case starts[j.Token] > 1:
			t.Errorf("%s ran %d times", j.Token, starts[j.Token])
		case o.Status == offer.Completed && (starts[j.Token] != 1 || ends[j.Token] != 1):
			t.Errorf("%s: completed with %d starts and %d ends", j.Token, starts[j.Token], ends[j.Token])
		case o.Status == offer.Failed && !mayFail:
			t.Errorf("%s: %+v", j.Token, o)
		case o.Status == offer.Failed:
			failed++
			if o.Class != "killed" && o.Class != "node_failure" || o.Reason == "" {
				t.Errorf("%s: %+v", j.Token, o)
			}
		}
	}
	t.Logf("%d failed", failed)
}

// killWrapper kills the wrapper of some running job.
func killWrapper(w *world) bool {
	dirs, _ := filepath.Glob(filepath.Join(w.dir, "s", "jobs", "*", "record"))
	rand.Shuffle(len(dirs), func(a, b int) { dirs[a], dirs[b] = dirs[b], dirs[a] })
	for _, d := range dirs {
		if rec, err := wrapper.ReadRecord(d); err == nil && rec.PID > 0 && rec.Exit == nil && len(kernel.Environ(rec.PID)) > 0 && strings.Contains(d, tokenOf(rec.PID)) {
			return syscall.Kill(rec.PID, syscall.SIGKILL) == nil
		}
	}
	return false
}

// tokenOf is the token a process was started with; none is in no path.
func tokenOf(pid int) string {
	if t, ok := process.Variable(kernel.Environ(pid), "MUSTER_TOKEN"); ok {
		return t
	}
	return "no token"
}

func TestStartedTwiceIsHarmless(t *testing.T) {
	// Requirement: SCR-04
	t.Parallel()
	w := newWorld(t)
	w.client.Options.Idle = time.Minute
	ctx := context.Background()
	errs := make(chan error)
	for range 4 {
		go func() {
			c := NewClient(w.client.Options)
			defer c.Close()
			_, err := c.Find(ctx, w.place, []string{"nobodyknows"})
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	p := w.queuePID()
	if !p.Alive() {
		t.Fatal("no queue")
	}
	if err := w.client.start(ctx, w.client.Spool); err != nil {
		t.Errorf("started while one runs: %v", err)
	}
	if w.queuePID() != p {
		t.Error("the second took the first one's place")
	}
}

func TestNewerTakesOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job("echo start >> record; sleep 0.5; echo end >> record; echo > out", "out")
	w.submit(j)
	w.until("a start", func() bool { return w.seen[j.Token].Status == offer.Running })
	old := w.queuePID()
	o := w.client.Options
	o.Revision = wire.Revision + 1
	w.client.Close()
	w.client = NewClient(o)
	if got := w.wait(j)[0]; got.Status != offer.Completed {
		t.Errorf("%+v", got)
	}
	old.Await()
	if w.queuePID() == old {
		t.Error("the older queue still runs")
	}
	if got := w.read("record"); got != "start\nend\n" {
		t.Errorf("record: %q", got)
	}
}

func TestQueueEndsWhenNothingIsLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.client.Options.Idle = 50 * time.Millisecond
	j := w.job("echo > out", "out")
	w.submit(j)
	w.wait(j)
	p := w.queuePID()
	w.client.Close()
	p.Await()
	left, _ := filepath.Glob(filepath.Join(w.dir, "s", "jobs", "*"))
	for _, l := range left {
		t.Errorf("%s is left", l)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "s", "log")); err != nil {
		t.Error(err)
	}
	if found, err := w.client.Find(context.Background(), w.place, []string{j.Token}); err != nil || found[0].Presence != offer.Found {
		t.Errorf("forgotten: %+v %v", found, err)
	}
}
