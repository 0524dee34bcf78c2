package queue

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
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// A check is an attempt whose process is gone, on its way to a verdict.
type check struct {
	job     *job
	spec    *providers.Job
	attempt int
	restart int
	launch  launch
	folder  wrapper.Folder
	proc    process.ID
	marks   verify.Baseline

	waited    bool // status and usage are the kernel's word
	status    unix.WaitStatus
	usage     unix.Rusage
	peak      *process.Peak // of what was waited for
	expired   bool
	rebooted  bool
	cancelled bool
	oomKill   int64
	killed    func() int64
	before    devices.Marks // its devices before it started
	gpuMax    int64         // bytes that it had in use on one of them; -1 = unknown
	gpus      gpu.Reader
	done      bool // run has been called
	booked    bool // its core is still its own
	lingered  bool // its group has been looked after

	obs     offer.Observation
	verdict failure.Verdict
	moved   bool // the checkpoint moved
	// unclaimed says that nothing ran: the start may be repeated.
	unclaimed bool
	// holder is another process that claimed the token first.
	holder process.ID
}

// group is the processes of the attempt.
func (c *check) group() attempt.Group {
	return attempt.Group{Job: c.spec, Attempt: c.attempt, Leader: c.proc.PID, Folder: c.folder}
}

func (q *queue) newCheck(j *job) *check {
	c := &check{job: j, spec: &j.spec, attempt: j.attempt(), restart: j.Restart, launch: *j.Launch, folder: wrapper.Folder(q.folder(j)),
		proc: process.ID{PID: j.pid()}, marks: q.bases.get(baseKey(j)), expired: j.expired, cancelled: j.cancels, oomKill: j.oomKill, killed: q.killed, before: j.before, gpuMax: -1, gpus: q.gpus.Reader}
	c.obs = q.observe(j)
	return c
}

// checkOf is the check of a start; it needs nothing of the job's own.
func (q *queue) checkOf(s *start) *check {
	return &check{job: s.job, spec: s.spec, peak: &s.peak, attempt: s.attempt, restart: s.restart, launch: s.launch, folder: s.folder, oomKill: s.oomKill, killed: q.killed, before: s.job.before, gpuMax: -1, gpus: q.gpus.Reader, obs: s.obs}
}

// light reports whether the check of an attempt is quickly done: a few small
// files.
func (c *check) light() bool {
	if len(c.spec.Outputs) > maxLightFiles {
		return false
	}
	for _, o := range c.spec.Outputs {
		if o.Kind != "path" && o.Kind != "" {
			return false
		}
		for _, v := range o.Verify {
			if v.Kind == "command" || v.Kind == "sha256" {
				return false
			}
		}
		fi, err := os.Lstat(attempt.InWorkdir(c.spec.Workdir, o.Path))
		if err == nil && (fi.Size() > maxLightSize || !fi.Mode().IsRegular()) {
			return false
		}
	}
	return true
}

// What counts as a light check.
const (
	maxLightFiles = 4
	maxLightSize  = 256 << 10 // bytes of one file
)

func (q *queue) checker(ctx context.Context) {
	for {
		select {
		case c := <-q.checks:
			if !c.lingered && !c.rebooted && !c.group().Quiet() {
				go q.settleGroup(ctx, c)
				continue
			}
			c.run(ctx)
			q.post(ctx, func() { q.checked(c) })
		case <-ctx.Done():
			return
		}
	}
}

// checked takes a verdict in.
func (q *queue) checked(c *check) {
	q.busy--
	j := c.job
	switch {
	case c.holder.PID != 0:
		q.rebook(c)
		j.Status, j.proc = offer.Running, c.holder
		q.adoptOne(j)
	case c.unclaimed && !j.cancels && j.tries < maxTries:
		q.rebook(c)
		j.Status = offer.Running
		q.live[j] = true
		s := q.newStart(j)
		s.again = true
		time.AfterFunc(repeatDelay<<min(j.tries, 6), func() { q.ops <- func() { q.due = append(q.due, s) } })
		j.tries++
	default:
		q.finish(c)
	}
}

// rebook takes back what was given up for an attempt that goes on.
func (q *queue) rebook(c *check) {
	if !c.booked {
		q.book(c.job, 1)
	}
}

// A start that did not come to a claim is repeated, with growing pauses.
const (
	repeatDelay = 50 * time.Millisecond
	maxTries    = 20
)

// run finds out how the attempt ended.
func (c *check) run(ctx context.Context) {
	rec, err := c.record()
	switch {
	case !c.rebooted && (errors.Is(err, os.ErrNotExist) || err == nil && (rec.PID == 0 || rec.Launch != c.launch.ID)) && c.bare():
		// No claim: the command has not run. The folder stays if another
		// wrapper may still come to it, so that the record decides.
		if rec.Torn || rec.PID != 0 {
			os.RemoveAll(string(c.folder))
		}
		c.unclaimed = true
		c.obs.Ended = time.Now()
		c.verdict = failure.Verdict{Class: failure.Unknown, Signature: "no claim", Line: "the job's wrapper cannot claim its token; is the spool's disk full?"}
		return
	case err == nil && rec.PID != c.proc.PID && rec.Exit == nil && !c.rebooted:
		if p := (process.ID{PID: rec.PID}); process.Holds(p.PID, c.spec.Token, c.attempt) {
			p.Start, _ = process.StartTime(p.PID)
			c.holder = p
			return
		}
	}
	if rec.PID != c.proc.PID {
		c.waited = false // what was waited for was a start that came too late
	}
	for _, d := range rec.Duplicates {
		if d != c.launch.ID {
			c.obs.Duplicate = d
		}
	}
	ev := c.evidence(rec)
	if ev.Exit != nil && *ev.Exit == 0 && ev.Signal == "" && !c.cancelled {
		ev.Outputs = attempt.Outputs(ctx, c.spec, c.marks, &c.obs)
	}
	if c.tail(&ev); !ev.Fine() {
		ev.Xid = c.before.Since(ctx, c.gpus)
		ev.NoRoom = attempt.Full(filepath.Dir(attempt.LogPath(c.spec.Workdir, c.spec.Token, c.attempt, true)))
	}
	rules, _ := failure.Compile(c.spec.Rules)
	c.verdict = rules.Classify(ev)
	c.moved = c.launch.Checkpoint != 0 && attempt.CheckpointMark(&c.job.spec) != c.launch.Checkpoint
	c.obs.Exit, c.obs.Signal = ev.Exit, ev.Signal
	c.obs.Usage = c.used()
	if c.verdict.Class != "" && c.verdict.Hint != "" {
		c.obs.Reason = c.verdict.Hint
	}
}

// record is what the wrapper wrote down. A child that exited by itself has
// said the same with its status.
func (c *check) record() (wrapper.Record, error) {
	if c.waited && c.status.Exited() && c.status.ExitStatus() != unclaimedExit {
		code := c.status.ExitStatus()
		return wrapper.Record{PID: c.proc.PID, Launch: c.launch.ID, Exit: &code}, nil
	}
	return wrapper.ReadRecord(c.folder.Record())
}

// unclaimedExit is what the wrapper exits with when it has no claim.
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
	at := boot.Now()
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
	if ev.Exit != nil && *ev.Exit > 128 && *ev.Exit <= 128+64 {
		ev.Signal = strings.TrimPrefix(unix.SignalName(unix.Signal(*ev.Exit-128)), "SIG")
	}
	if c.oomKill >= 0 && ev.Signal == "KILL" {
		ev.HostOOMKills = c.killed() - c.oomKill
	}
	return ev
}

// tail reads the ends of both streams of an attempt that did not end well.
func (c *check) tail(ev *failure.Evidence) {
	if ev.Fine() && !c.cancelled {
		return
	}
	ev.Tail, c.obs.Tail = attempt.Tail(c.spec, c.attempt)
	if ev.Outputs != "" {
		c.obs.Tail = append(c.obs.Tail, ev.Outputs)
	}
}

// used is what the attempt used, as far as it can be known.
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
	u.GPUSeconds = float64(len(c.launch.GPUs)) * u.Elapsed.Seconds()
	return u
}
