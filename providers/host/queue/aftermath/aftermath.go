// Package aftermath finds out how an attempt ended whose process is gone: from
// what the kernel says, what the wrapper wrote down and what the job left.
package aftermath

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/host/boot"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/host/queue/devices"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
	"github.com/muster-run/muster/providers/wrapper/guard"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// An Attempt is what is known of one whose process is gone, and, once it has
// been examined, what became of it.
type Attempt struct {
	Spec   *providers.Job
	N      int // from 1, over all tokens of the job
	Launch attempt.Launch
	Folder wrapper.Folder
	Proc   process.ID
	Shape  offer.Shape     // as scaled for its launch
	Marks  verify.Baseline // its outputs before its first attempt
	Found  *verify.Result  // what it left; nil = not looked at yet
	// Secrets is the file of the secrets that it was given; "" = none.
	Secrets string

	Waited bool // Status and Usage are the kernel's word
	Status unix.WaitStatus
	Usage  unix.Rusage
	Peak   *process.Peak // of what was waited for

	Expired   bool // its walltime was over
	Rebooted  bool
	Host      string // what happened to the machine as a whole; "" = nothing that is known
	Cancelled bool

	Before   devices.Marks // its devices before it started; nil = unknown
	GPUs     gpu.Reader
	OOMKill  int64        // oom_kill of the machine before it started; -1 = unknown
	OOMKills func() int64 // and as it is

	mask    wrapper.Mask
	Obs     offer.Observation // so far; Examine adds how it ended
	Verdict failure.Verdict
	Moved   bool // the checkpoint moved
	// Unclaimed says that nothing ran: the start may be repeated.
	Unclaimed bool
	// Holder is another process that claimed the token first.
	Holder process.ID
}

// Group is the processes of the attempt.
func (a *Attempt) Group() attempt.Group {
	return attempt.Group{Job: a.Spec, Attempt: a.N, Leader: a.Proc.PID, Folder: a.Folder}
}

// Light verifies what the attempt left if that is quickly done; else it says
// that it is not, and Examine will.
func (a *Attempt) Light(ctx context.Context) bool {
	t := attempt.Task(a.Spec, a.Shape, a.Marks)
	if !t.Light() {
		return false
	}
	r, ok := t.RunLight(ctx)
	if ok {
		a.Found = &r
	}
	return ok
}

// Examine finds out how the attempt ended, from what it left.
func (a *Attempt) Examine(ctx context.Context) {
	rec, err := a.record()
	switch {
	case !a.Rebooted && (errors.Is(err, os.ErrNotExist) || err == nil && (rec.PID == 0 || rec.Launch != a.Launch.ID)) && a.bare():
		// No claim: the command has not run. The folder stays if another
		// wrapper may still come to it, so that the record decides.
		if rec.Torn || rec.PID != 0 {
			os.RemoveAll(string(a.Folder))
		}
		a.Unclaimed = true
		a.Obs.Ended = time.Now()
		a.Verdict = failure.Verdict{Class: failure.Unknown, Signature: "no claim", Line: "the job's wrapper cannot claim its token; is the spool's disk full?"}
		return
	case err == nil && rec.PID != a.Proc.PID && rec.Exit == nil && !a.Rebooted:
		if p := (process.ID{PID: rec.PID}); process.Holds(p.PID, a.Spec.Token, a.N) {
			p.Start, _ = process.StartTime(p.PID)
			a.Holder = p
			return
		}
	}
	if rec.PID != a.Proc.PID {
		a.Waited = false // what was waited for was a start that came too late
	}
	for _, d := range rec.Duplicates {
		if d != a.Launch.ID {
			a.Obs.Duplicate = d
		}
	}
	a.mask = wrapper.ReadMask(a.Secrets)
	if err := attempt.Scrub(a.Spec, a.N, a.mask); err != nil {
		a.Obs.Reason = "its log may hold its secrets: " + err.Error()
	}
	ev := a.evidence(rec)
	ev.Stalled = a.Launch.Stalled
	if !a.Cancelled {
		ev.Forbidden = attempt.Forbidden(a.Spec, a.N)
	}
	if ev.Forbidden == "" && ev.Exit != nil && *ev.Exit == 0 && ev.Signal == "" && !a.Cancelled {
		if a.Found == nil {
			r := attempt.Verify(ctx, a.Spec, a.Shape, a.Marks)
			a.Found = &r
		}
		a.Obs.Outputs, a.Obs.Metrics = a.Found.Outputs, a.Found.Metrics
		ev.Outputs, ev.Unverified = a.Found.Wrong, a.Found.Unverified
	}
	if a.tail(&ev); !ev.Fine() {
		ev.Xid = a.Before.Since(ctx, a.GPUs)
		ev.NoRoom = attempt.Full(filepath.Dir(attempt.LogPath(a.Spec.Workdir, a.Spec.Token, a.N, true)))
	}
	rules, _ := failure.Compile(a.Spec.Rules)
	a.Verdict = rules.Classify(ev)
	a.Moved = a.Launch.Checkpoint != 0 && attempt.CheckpointMark(a.Spec) != a.Launch.Checkpoint
	if a.Verdict.Class != "" || a.Cancelled {
		guard.Note(a.Spec, &a.Obs)
	}
	a.Obs.Exit, a.Obs.Signal = ev.Exit, ev.Signal
	a.Obs.Usage = a.used()
	if a.Verdict.Class != "" && a.Verdict.Hint != "" {
		a.Obs.Reason = a.Verdict.Hint
	}
}

// record is what the wrapper wrote down. A child that exited by itself has
// said the same with its status.
func (a *Attempt) record() (wrapper.Record, error) {
	if a.Waited && a.Status.Exited() && a.Status.ExitStatus() != unclaimedExit {
		code := a.Status.ExitStatus()
		return wrapper.Record{PID: a.Proc.PID, Launch: a.Launch.ID, Exit: &code}, nil
	}
	return wrapper.ReadRecord(a.Folder.Record())
}

// unclaimedExit is what the wrapper exits with when it has no claim.
const unclaimedExit = 97

// bare reports whether a start that left no claim may be repeated: not if
// the shell itself said that it cannot run.
func (a *Attempt) bare() bool {
	return !a.Waited || a.Status.Signaled() || a.Status.ExitStatus() == unclaimedExit
}

// evidence puts together how the process ended.
func (a *Attempt) evidence(rec wrapper.Record) failure.Evidence {
	ev := failure.Evidence{Exit: rec.Exit, OOMKills: a.Launch.Cgroup.Usage().OOMKills, HostOOMKills: -1, WalltimeHit: a.Expired, Rebooted: a.Rebooted && rec.Exit == nil,
		GPUs: len(a.Launch.GPUs) > 0, Container: attempt.Container(a.Spec)}
	at := boot.Now()
	a.Obs.Started = a.Launch.Began(at)
	if a.Waited {
		a.Obs.Ended = a.Obs.Started.Add(at.Up - time.Duration(a.Launch.Up))
	} else {
		a.Obs.Ended = a.Launch.Ended(rec.Ended, at)
	}
	if rec.Exit == nil && a.Waited {
		if a.Status.Signaled() {
			ev.Signal = strings.TrimPrefix(unix.SignalName(a.Status.Signal()), "SIG")
		} else {
			code := a.Status.ExitStatus()
			ev.Exit = &code
		}
	}
	ev.Gone, ev.Host = ev.Exit == nil && ev.Signal == "" && !a.Rebooted, a.Host
	if ev.Exit != nil && *ev.Exit > 128 && *ev.Exit <= 128+64 {
		ev.Signal = strings.TrimPrefix(unix.SignalName(unix.Signal(*ev.Exit-128)), "SIG")
	}
	if a.OOMKill >= 0 && (ev.Signal == "KILL" || ev.Gone) {
		ev.HostOOMKills = a.OOMKills() - a.OOMKill
	}
	return ev
}

// tail reads the ends of both streams of an attempt that did not end well.
func (a *Attempt) tail(ev *failure.Evidence) {
	if ev.Fine() && !a.Cancelled {
		return
	}
	ev.Tail, a.Obs.Tail = attempt.Tail(a.Spec, a.N, a.mask)
	for _, said := range []string{ev.Outputs, ev.Unverified, ev.Forbidden} {
		if said != "" {
			a.Obs.Tail = append(a.Obs.Tail, said)
		}
	}
}

// used is what the attempt used, as far as it can be known.
func (a *Attempt) used() *offer.Usage {
	u := &offer.Usage{Elapsed: a.Obs.Ended.Sub(a.Obs.Started), CPU: -1, MaxRSS: -1}
	of := a.Launch.Cgroup.Usage()
	switch {
	case of.Peak >= 0:
		u.CPU, u.MaxRSS = of.CPU, of.Peak
	case a.Waited:
		u.CPU = time.Duration(a.Usage.Utime.Nano() + a.Usage.Stime.Nano())
		u.MaxRSS = a.Peak.Bytes(a.Usage.Maxrss)
	default:
		u.CPU = of.CPU
	}
	u.GPUSeconds = float64(len(a.Launch.GPUs)) * u.Elapsed.Seconds()
	return u
}
