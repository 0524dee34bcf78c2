package queue

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
	"github.com/muster-run/muster/providers/wrapper/guard"
)

// group is the processes of the attempt.
func (c *check) group() attempt.Processes {
	return attempt.Processes{Job: c.spec, Attempt: c.n, Leader: c.proc.PID, Folder: c.folder}
}

// light verifies the outputs if that is quick, and reports whether it did; else conclude
// verifies them.
func (c *check) light(ctx context.Context) bool {
	t := attempt.Task(c.spec, c.shape, c.marks)
	if c.launch.Scratch != "" || !t.Light() {
		return false
	}
	r, ok := t.RunLight(ctx)
	if ok {
		c.found = &r
	}
	return ok
}

// conclude finds out how the attempt ended, from its record, outputs and log.
func (c *check) conclude(ctx context.Context) {
	rec, err := c.record()
	switch {
	case !c.rebooted && (errors.Is(err, os.ErrNotExist) || err == nil && (rec.PID == 0 || rec.Launch != c.launch.ID)) && c.bare():
		// No claim: the command has not run. The folder stays if another wrapper may still
		// reach it; then the record decides.
		if rec.Torn || rec.PID != 0 {
			os.RemoveAll(string(c.folder))
		}
		c.unclaimed = true
		c.obs.Ended = time.Now()
		c.verdict = failure.Verdict{Class: failure.Unknown, Signature: "no claim", Line: "the job's wrapper cannot claim its token; is the spool's disk full?"}
		return
	case err == nil && rec.PID != c.proc.PID && rec.Exit == nil && !c.rebooted:
		if p := (process.ID{PID: rec.PID}); process.Holds(p.PID, c.spec.Token, c.n) {
			p.Start, _ = process.StartTime(p.PID)
			c.holder = p
			return
		}
	}
	if rec.PID != c.proc.PID {
		c.waited = false // the child that was waited for came too late
	}
	for _, d := range rec.Duplicates {
		if d != c.launch.ID {
			c.obs.Duplicate = d
		}
	}
	c.mask = wrapper.ReadMask(c.secrets)
	if err := attempt.Scrub(c.spec, c.n, c.mask); err != nil {
		c.obs.Reason = "its log may hold its secrets: " + err.Error()
	}
	ev := c.evidence(rec)
	ev.Stalled = c.launch.Stalled
	if !c.cancelled {
		ev.Forbidden = attempt.Forbidden(c.spec, c.n)
	}
	c.verify(ctx, &ev)
	if c.tail(&ev); !ev.Fine() {
		ev.Xid = c.before.Since(ctx, c.reader)
		c.doubted = attempt.SeeRoom(&ev, c.spec, c.n)
	}
	rules, _ := failure.Compile(c.spec.Rules)
	c.verdict = rules.Classify(ev)
	c.moved = attempt.Moved(c.spec, c.n, c.launch.Checkpoint)
	if c.verdict.Class != "" || c.cancelled {
		guard.Note(c.spec, &c.obs)
	}
	c.obs.Notes = attempt.Notes(c.spec, c.n)
	if err := attempt.Tidy(c.spec, c.n, c.verdict.Class == "" && !c.cancelled); err != nil {
		c.obs.Notes = append(c.obs.Notes, err.Error())
	}
	c.obs.Exit, c.obs.Signal = ev.Exit, ev.Signal
	c.obs.Usage = c.used()
	if c.verdict.Class != "" && c.verdict.Hint != "" {
		c.obs.Reason = c.verdict.Hint
	}
}

// verify opens the outputs of a command that ended well.
func (c *check) verify(ctx context.Context, ev *failure.Evidence) {
	if ev.Forbidden != "" || ev.Exit == nil || *ev.Exit != 0 || ev.Signal != "" || c.cancelled {
		return
	}
	if c.found == nil {
		r := attempt.Ended{Start: c.ground, Shape: c.shape, Marks: c.marks, Scratch: c.launch.Scratch}.Verify(ctx)
		c.found = &r
	}
	c.found.Hide(c.mask.Text)
	c.obs.Outputs, c.obs.Metrics = c.found.Outputs, c.found.Metrics
	ev.Outputs, ev.Unverified = c.found.Wrong, c.found.Unverified
}

// record is the wrapper's record. The exit status of a child that exited by itself says the
// same.
func (c *check) record() (wrapper.Record, error) {
	if c.waited && c.status.Exited() && c.status.ExitStatus() != unclaimedExit {
		code := c.status.ExitStatus()
		return wrapper.Record{PID: c.proc.PID, Launch: c.launch.ID, Exit: &code}, nil
	}
	return wrapper.ReadRecord(c.folder.Record())
}

// unclaimedExit is the wrapper's exit status without a claim.
const unclaimedExit = 97

// bare reports whether a start that left no claim may be repeated: not if
// the shell itself said that it cannot run.
func (c *check) bare() bool {
	return !c.waited || c.status.Signaled() || c.status.ExitStatus() == unclaimedExit
}

// evidence puts together how the process ended.
func (c *check) evidence(rec wrapper.Record) failure.Evidence {
	ev := failure.Evidence{Exit: rec.Exit, OOMKills: c.launch.Cgroup.Usage().OOMKills, HostOOMKills: -1, WalltimeHit: c.expired, Rebooted: c.rebooted && rec.Exit == nil,
		GPUs: len(c.launch.GPUs) > 0, Container: attempt.Container(c.spec)}
	at := monotonic.Now()
	c.obs.Started = c.launch.Began(at)
	if c.waited {
		c.obs.Ended = c.obs.Started.Add(at.Up - time.Duration(c.launch.Up))
	} else {
		c.obs.Ended = c.launch.Ended(rec.Ended, at)
	}
	if rec.Exit == nil && c.waited {
		if c.status.Signaled() {
			ev.Signal = strings.TrimPrefix(unix.SignalName(c.status.Signal()), "SIG")
		} else {
			code := c.status.ExitStatus()
			ev.Exit = &code
		}
	}
	ev.Gone, ev.Host = ev.Exit == nil && ev.Signal == "" && !c.rebooted, c.host
	if ev.Exit != nil && *ev.Exit > 128 && *ev.Exit <= 128+64 {
		ev.Signal = strings.TrimPrefix(unix.SignalName(unix.Signal(*ev.Exit-128)), "SIG")
	}
	if c.killsBefore >= 0 && (ev.Signal == "KILL" || ev.Gone) {
		ev.HostOOMKills = c.kills() - c.killsBefore
	}
	return ev
}

// tail reads the ends of both streams of an attempt that did not end well.
func (c *check) tail(ev *failure.Evidence) {
	if ev.Fine() && !c.cancelled {
		return
	}
	ev.Tail, c.obs.Tail = attempt.Tail(c.spec, c.n, c.mask)
	for _, said := range []string{ev.Outputs, ev.Unverified, ev.Forbidden} {
		if said != "" {
			c.obs.Tail = append(c.obs.Tail, said)
		}
	}
}

// used is the attempt's use of resources, as far as it is known.
func (c *check) used() *offer.Usage {
	u := &offer.Usage{Elapsed: c.obs.Ended.Sub(c.obs.Started), CPU: -1, MaxRSS: -1}
	of := c.launch.Cgroup.Usage()
	switch {
	case of.Peak >= 0:
		u.CPU, u.MaxRSS = of.CPU, of.Peak
	case c.waited:
		u.CPU = time.Duration(c.usage.Utime.Nano() + c.usage.Stime.Nano())
		u.MaxRSS = c.peak.Bytes(c.usage.Maxrss)
	default:
		u.CPU = of.CPU
	}
	if u.GPUSeconds = float64(len(c.launch.GPUs)) * u.Elapsed.Seconds(); len(c.launch.GPUs) > 0 {
		c.obs.Driver = gpu.Driver()
	}
	return u
}
