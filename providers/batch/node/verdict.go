package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/guard"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// observed is an observation of the command with a status.
func (c *command) observed(status offer.Status) offer.Observation {
	o := c.seen(status)
	o.Inputs = c.digests
	return o
}

// notStarted is the end of a start whose command could not be run.
func (c *command) notStarted(err error) (End, failure.Verdict) {
	e := End{Begin: c.begin, Final: true}
	e.Seen = c.observed(offer.Failed)
	e.Seen.Class, e.Seen.Reason, e.Seen.Tail = attempt.StartClass(err), err.Error(), []string{err.Error()}
	if errors.As(err, new(*unfit)) {
		e.Seen.Class = failure.NodeFailure
	}
	e.Seen.NotRun, e.Outside = true, c.told
	e.Seen.Notes = attempt.Notes(c.job, c.number())
	if e.Seen.Class == failure.NotItsOwn {
		e.Seen.Tail = nil // it has a reason, and no log
	}
	e.Signature = e.Seen.Class + ": " + err.Error()
	return e, failure.Verdict{Class: e.Seen.Class, Line: err.Error(), Signature: e.Signature}
}

// verdict finds out how the command ended.
func (c *command) verdict(exit *int, sig string) (End, failure.Verdict) {
	j := c.job
	e := End{Begin: c.begin, Final: true}
	e.Seen = c.observed(offer.Completed)
	e.Seen.Exit, e.Seen.Signal, e.Seen.Usage = exit, sig, c.used()
	ev := failure.Evidence{Exit: exit, Signal: sig, OOMKills: -1, HostOOMKills: -1, WalltimeHit: c.expired, GPUs: len(c.begin.GPUs) > 0}
	ended := exit != nil && *exit == 0
	if now := oomKills(c.allocation.scheduler.Environment().Cgroup); c.oom >= 0 && now >= 0 && (c.allocation.sharers == 0 || !ended) { // of a pack, it may have been another's
		if ev.OOMKills = now - c.oom; ev.OOMKills > 0 {
			ev.Scheduler = string(scheduler.OutOfMemory) // the job's own limit, as the scheduler will say
		}
	}
	cancelled := c.told && c.cancelled() // with any exit status: a shell may continue when the command that it waited for was ended
	mask := c.batch.Mask(j.Token)
	if err := attempt.Scrub(j, c.number(), mask); err != nil {
		e.Seen.Reason = "its log may hold its secrets: " + err.Error()
	}
	if ev.Stalled = c.stalled; !cancelled {
		ev.Forbidden = attempt.Forbidden(j, c.number())
	}
	good := ended && !cancelled && ev.Forbidden == ""
	if good {
		r := c.verify()
		r.Hide(mask.Text)
		e.Seen.Outputs, e.Seen.Metrics = r.Outputs, r.Metrics
		ev.Outputs, ev.Unverified = r.Wrong, r.Unverified
		cancelled = c.told && c.cancelled()
		e.Seen.Ended = time.Now()
	}
	if !good || !ev.Fine() {
		ev.Tail, e.Seen.Tail = attempt.Tail(j, c.number(), mask)
		attempt.SeeRoom(&ev, j, c.number())
		for _, said := range []string{ev.Outputs, ev.Unverified, ev.Forbidden} {
			if said != "" {
				e.Seen.Tail = append(e.Seen.Tail, said)
			}
		}
	}
	rules, _ := failure.Compile(j.Rules)
	v := rules.Classify(ev)
	if c.saved(v) {
		ev.WalltimeHit = true
		v = rules.Classify(ev)
	}
	if v.Class == "" && ev.OOMKills > 0 && !cancelled {
		// Seen on Slurm 22.05: it reports OUT_OF_MEMORY for the whole job, and cancels its
		// dependents.
		v = killedWithin(ev.OOMKills)
		_, e.Seen.Tail = attempt.Tail(j, c.number(), mask)
		e.Seen.Tail = append(e.Seen.Tail, v.Line)
	}
	e.Seen.Notes = attempt.Notes(j, c.number())
	if err := attempt.Tidy(j, c.number(), v.Class == "" && !cancelled); err != nil {
		e.Seen.Notes = append(e.Seen.Notes, err.Error())
	}
	c.close(&e, v, cancelled)
	return e, v
}

// close sets how the launch ended: completed unless it was cancelled or its failure has a class.
func (c *command) close(e *End, v failure.Verdict, cancelled bool) {
	if cancelled || v.Class != "" {
		guard.Note(c.job, &e.Seen)
	}
	switch {
	case cancelled:
		e.Seen.Status, e.Signature = offer.Cancelled, v.Signature
	case v.Class != "":
		e.Seen.Status, e.Seen.Class, e.Seen.Reason, e.Signature = offer.Failed, v.Class, v.Hint, v.Signature
		if c.told && !c.expired {
			e.Outside = true
		}
	}
}

// killedWithin is the verdict on a command that exits 0 and leaves valid outputs although the
// kernel killed some of its processes: their work is missing.
func killedWithin(n int64) failure.Verdict {
	which := "one of its processes"
	if n > 1 {
		which = fmt.Sprintf("%d of its processes", n)
	}
	line := "the command exited 0, but the kernel killed " + which + " for using more memory than the job may"
	return failure.Verdict{Class: failure.OOMSched, Rule: "cgroup", Hint: "raise resources.memory", Line: line, Signature: failure.OOMSched + ": " + failure.Signature(line)}
}

func (c *command) used() *offer.Usage {
	u := &offer.Usage{Elapsed: time.Since(c.begin.At), CPU: -1, MaxRSS: -1, NodeTime: c.allocation.times.share(time.Now())}
	if r := c.usage; r != nil {
		u.CPU = time.Duration(r.Utime.Nano() + r.Stime.Nano())
		u.MaxRSS = c.peak.Bytes(r.Maxrss)
	}
	u.GPUSeconds = float64(len(c.begin.GPUs)) * u.Elapsed.Seconds()
	u.GPUMaxMem = c.gpus.memory()
	if b := c.batch.Bounds().Billing; b > 0 { // as accounting would have it, which may be closed, late or none
		u.Billed = fmt.Sprintf("%.0f billing-seconds", float64(b)*u.Elapsed.Seconds()/float64(c.job.Shape.Together(c.allocation.sharers).Beside()))
	}
	return u
}

// oomKills is how many processes of this job the kernel has killed for lack of memory, in the
// cgroups up to the one whose name begins with group; -1 = unknown. cgroups(7);
// memory.oom_control and memory.events.
func oomKills(group string) int64 {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return -1
	}
	most := int64(-1)
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		root, file := "", ""
		switch {
		case f[1] == "":
			root, file = "/sys/fs/cgroup", "memory.events"
		case f[1] == "memory":
			root, file = "/sys/fs/cgroup/memory", "memory.oom_control"
		default:
			continue
		}
		// A job's limit may be set at any level up to that of the job.
		for at, up := f[2], 0; at != "/" && at != "." && up < 4; at, up = filepath.Dir(at), up+1 {
			most = max(most, counter(filepath.Join(root, at, file), "oom_kill"))
			if strings.HasPrefix(filepath.Base(at), group) {
				break
			}
		}
	}
	return most
}

// counter reads a number from a file of "name number" lines; -1 = not there.
func counter(path, name string) int64 {
	b, err := os.ReadFile(path)
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}

// verify opens the outputs within their bounds and the rest of the job's walltime. It ends
// when the scheduler asks the job to end.
func (c *command) verify() (r verify.Result) {
	ended := attempt.Ended{Start: c.ground(), Shape: c.shape(), Marks: c.marks, Scratch: c.scratch.folder}
	c.inTime(func(ctx context.Context) { r = ended.Verify(ctx) })
	return r
}

// inTime does the work of a job beside its command. Its context ends with the job's walltime,
// and when the scheduler asks the job to end.
func (c *command) inTime(do func(context.Context)) {
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	if w := c.shape().Walltime; w > 0 {
		end := time.AfterFunc(time.Until(c.begin.At.Add(w-min(recordTime, w/16))), func() {
			stop(fmt.Errorf("the time of its %s job was over before its files were staged and verified; raise the walltime", c.allocation.name()))
		})
		defer end.Stop()
	}
	done := make(chan struct{})
	heard := make(chan bool, 1)
	go func() {
		defer close(heard)
		for {
			select {
			case sg := <-c.signals:
				if n, ok := sg.(syscall.Signal); ok && (n == unix.SIGTERM || n == unix.SIGINT || n == unix.SIGHUP) {
					stop(fmt.Errorf("the job was ended by %s before its files were staged and verified", c.allocation.name()))
					heard <- true
					return
				}
			case <-done:
				return
			}
		}
	}()
	do(ctx)
	close(done)
	c.told = <-heard || c.told
}
