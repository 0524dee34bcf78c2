package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm"
)

// hourMost is the bound on Slurm's commands in an hour's watch, however many jobs
// there are.
const hourMost = 200

// hourJobs is the number of jobs of that hour: by night it is 5,000.
func hourJobs() int {
	if os.Getenv("MUSTER_NIGHTLY") == "1" {
		return 5000
	}
	return 1000
}

// A busySlurm runs its jobs by the clock: job n starts every `every` after the
// one before it and takes `takes`; those of which silent says so end without
// a word of their own.
type busySlurm struct {
	fakeSlurm
	began        time.Time
	every, takes time.Duration
	silent       func(n int) bool
	batches      func() []*batch
}

func (f *busySlurm) Run(ctx context.Context, argv []string, stdin []byte) (command.Result, error) {
	switch argv[0] {
	case "squeue":
		f.note(argv)
		var jobs []values
		f.each(func(k *batch, i, n int) {
			v := values{"%F": k.id, "%K": fmt.Sprint(i), "%V": fmt.Sprint(f.began.Unix()), "%j": k.Name}
			switch start := f.began.Add(time.Duration(n) * f.every); {
			case time.Since(start) < 0:
				v["%T"], v["%r"] = "PENDING", "Resources"
			case time.Since(start) < f.takes:
				v["%T"], v["%S"], v["%N"] = "RUNNING", fmt.Sprint(start.Unix()), "cpu1"
			default:
				return
			}
			jobs = append(jobs, v)
		})
		return command.Result{Out: printed(argv, jobs...)}, nil
	case "sacct":
		f.note(argv)
		var jobs []values
		f.each(func(k *batch, i, n int) {
			end := f.began.Add(time.Duration(n)*f.every + f.takes)
			if time.Since(end) < 0 || !strings.Contains(","+argv[len(argv)-3]+",", ","+k.id+",") {
				return
			}
			jobs = append(jobs, values{"JobID": fmt.Sprintf("%s_%d", k.id, i), "State": "NODE_FAIL", "ExitCode": "1:0", "Submit": fmt.Sprint(f.began.Unix()), "End": fmt.Sprint(end.Unix()), "JobName": k.Name})
		})
		return command.Result{Out: printed(argv, jobs...)}, nil
	}
	return f.fakeSlurm.Run(ctx, argv, stdin)
}

func (f *busySlurm) note(argv []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, strings.Join(argv[:1], " "))
}

func (f *busySlurm) each(do func(k *batch, i, n int)) {
	n := 0
	for _, k := range f.batches() {
		for _, i := range k.Indexes {
			do(k, i, n)
			n++
		}
	}
}

// TestWatchHour counts the commands of an hour in which hourJobs jobs wait, run
// and end, with the real cadence on a clock that does not wait.
func TestWatchHour(t *testing.T) {
	// Requirement: WCH-02, WCH-03, WCH-05, E1
	if testing.Short() {
		t.Skip("an hour of jobs takes long under the race detector, and nightly has it")
	}
	t.Parallel()
	jobCount := hourJobs()
	often := 50 * time.Minute / time.Duration(jobCount)
	for _, c := range []struct {
		name         string
		walltime     time.Duration
		every, takes time.Duration
		silent       func(n int) bool
		ends         int
	}{
		{"long jobs", 4 * time.Hour, 0, 5 * time.Hour, func(int) bool { return false }, 0},
		{"some ended by Slurm all the time", 5 * time.Minute, often, 30 * time.Second, func(n int) bool { return n%2 == 0 }, jobCount},
		{"all ended by Slurm", time.Hour, often, 30 * time.Second, func(int) bool { return true }, jobCount},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newBench(t)
			synctest.Test(t, func(t *testing.T) {
				f := &busySlurm{began: time.Now(), every: c.every, takes: c.takes, silent: c.silent}
				k.s = New(Options{Program: k.s.options.Program, Type: slurm.Type{Runner: f}})
				k.T = t
				k.configure()
				var mu sync.Mutex
				f.batches = func() []*batch {
					mu.Lock()
					defer mu.Unlock()
					return k.s.backends[k.b.Name].campaign.jobs.batches
				}
				jobs := k.jobs("a", jobCount, nil)
				for i := range jobs {
					jobs[i].Token = fmt.Sprintf("token%d", i)
					jobs[i].Shape.Walltime = c.walltime
				}
				k.submit("batch0123456789", jobs...)
				f.began = time.Now()
				before := len(f.calls)
				ctx, stop := context.WithTimeout(t.Context(), time.Hour)
				defer stop()
				var nodes sync.WaitGroup
				nodes.Go(func() { k.nodes(ctx, f) })
				defer nodes.Wait()
				ends := 0
				err := k.s.Watch(ctx, providers.WatchRequest{Backend: k.b.Name}, func(b providers.Batch) error {
					for _, o := range b.Events {
						if over(o.Status) {
							ends++
						}
					}
					return nil
				})
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Fatal(err)
				}
				by := map[string]int{}
				for _, call := range f.calls[before:] {
					by[strings.Fields(call)[0]]++
				}
				t.Logf("%d commands: %v; %d ends told", len(f.calls)-before, by, ends)
				if n := len(f.calls) - before; n >= hourMost || n < 10 {
					t.Errorf("%d commands in an hour, %d are too many: %v", n, hourMost, by)
				}
				if ends < c.ends*9/10 {
					t.Errorf("%d of %d ends were told", ends, c.ends)
				}
			})
		})
	}
}

// nodes writes down what jobs do, as the nodes would.
func (k *bench) nodes(ctx context.Context, f *busySlurm) {
	spool := k.s.backends[k.b.Name].campaign.spools.dir
	written := map[string]bool{"starts": true, "ends": true}
	write := func(folder string, name string, v any) {
		written[folder] = true
		text, err := json.Marshal(v)
		if err == nil {
			err = os.WriteFile(filepath.Join(spool, "run", name), text, 0o600)
		}
		if err == nil {
			err = os.Rename(filepath.Join(spool, "run", name), filepath.Join(spool, folder, name))
		}
		if err != nil {
			k.Error(err)
		}
	}
	began, ended := 0, 0
	for ctx.Err() == nil {
		time.Sleep(2 * time.Second)
		n := 0
		f.each(func(b *batch, i, _ int) {
			at := n
			n++
			if at > began && at > ended {
				return
			}
			start := f.began.Add(time.Duration(at) * f.every)
			token := b.jobs[i].token
			begin := node.Begin{Token: token, ID: fmt.Sprintf("%s_%d", b.id, i), At: start, Node: "cpu1", Pool: b.Pool}
			if at == began && time.Since(start) >= 0 {
				write("starts", node.RecordName(token, 0), begin)
				began++
			}
			if end := start.Add(f.takes); at == ended && time.Since(end) >= 0 {
				if !f.silent(at) {
					write("ends", node.RecordName(token, 0), node.End{Begin: begin, Final: true,
						Seen: offer.Observation{Token: token, Presence: offer.Found, Handle: begin.ID, Status: offer.Completed, Attempt: 1, Started: start, Ended: end}})
				}
				ended++
			}
		})
		for folder := range written { // by this clock
			os.Chtimes(filepath.Join(spool, folder), time.Time{}, time.Now())
		}
		clear(written)
	}
}
