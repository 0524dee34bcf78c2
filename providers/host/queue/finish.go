package queue

import (
	"context"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/host/boot"
	"github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/retry"
)

// notStarted ends a job that could not be started, unless it was the spool
// that could not be written: that is waited out.
func (q *queue) notStarted(s *start) {
	j := s.job
	q.touched = boot.Uptime()
	delete(q.live, j)
	j.start = nil
	stopAll(j)
	if s.unwritten != nil {
		q.full = s.unwritten
		q.tell.ring()
		q.unstart(s)
		return
	}
	if !j.expired && q.lostWorkdir(s) {
		q.unstart(s)
		return
	}
	c := q.newCheck(j)
	class := attempt.StartClass(s.err)
	if j.expired {
		class = failure.Walltime // its inputs took that long to read
	}
	c.Obs.Status, c.Obs.Reason, c.Obs.Ended = offer.Failed, s.err.Error(), time.Now()
	c.Obs.Started = time.Time{}     // no command ran, and it left nothing
	if class != failure.NotItsOwn { // which has a reason, and no log
		c.Obs.Tail = []string{s.err.Error()}
	}
	c.Verdict = failure.Verdict{Class: class, Line: s.err.Error(), Signature: class + ": " + s.err.Error()}
	q.finish(c)
}

// childGone takes in that a child has ended.
func (q *queue) childGone(s *start, c *check) {
	j := s.job
	j.simple = s.simple
	c.Expired, c.Cancelled, c.Launch.Stalled = j.expired, j.cancels, j.Launch.Stalled
	c.gpuMax = j.used(boot.Uptime())
	q.left(c)
	if c.done {
		q.checked(c)
	}
}

// left has a job examined whose process is gone, unless it is already. One
// that says it did well gives its core to the next; after any other the breaker
// has a word first. GPUs stay the job's own until its outputs are checked.
func (q *queue) left(c *check) {
	j := c.job
	delete(q.live, j)
	j.start = nil
	stopAll(j)
	if c.booked = !c.Waited || c.Status != 0; !c.booked {
		q.book(j, -1)
	}
	j.Status = offer.Verifying
	q.busy++
	j.place.checking++
	if c.done {
		return
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	j.check = c
	q.toCheck = append(q.toCheck, c)
	restart := j.Restart
	j.timers = append(j.timers, time.AfterFunc(verifyNotice, func() {
		q.ops <- func() {
			if j.Status == offer.Verifying && j.Restart == restart {
				obs := q.observe(j)
				j.Obs = &obs
				q.step(j, true)
			}
		}
	}))
}

// verifyNotice is after what time of checking watchers are told of it.
const verifyNotice = time.Second

// watchOver sets the clocks of a running job: checkpoint signal and walltime.
func (q *queue) watchOver(j *job) {
	q.watchOutput(j)
	limit := j.shape().Walltime
	if limit <= 0 {
		return
	}
	ran := boot.Uptime() - time.Duration(j.Launch.Up)
	restart := j.Restart
	at := func(d time.Duration, fn func()) {
		j.timers = append(j.timers, time.AfterFunc(max(d-ran, 0), func() {
			q.ops <- func() {
				if j.Restart == restart && q.live[j] {
					fn()
				}
			}
		}))
	}
	if ck := j.spec.Checkpoint; ck.Signal != "" && ck.Grace > 0 && ck.Grace < limit && ran < limit-ck.Grace {
		at(limit-ck.Grace, func() {
			c := q.newCheck(j)
			c.Proc.PID = j.pid()
			go c.Group().SignalProgram(unix.SignalNum("SIG" + trimSIG(ck.Signal)))
		})
	}
	at(limit, func() {
		j.expired = true
		q.terminate(j, j.spec.Grace)
	})
}

// defaultGrace is the time between TERM and KILL where a job names none.
const defaultGrace = 30 * time.Second

// terminate ends a running job: politely, then hard.
func (q *queue) terminate(j *job, grace time.Duration) {
	if grace <= 0 {
		grace = defaultGrace
	}
	restart := j.Restart
	if j.start != nil {
		j.start.stop()
	}
	j.signal(unix.SIGTERM)
	j.signal(unix.SIGCONT) // a stopped job could not obey
	j.timers = append(j.timers, time.AfterFunc(grace, func() {
		q.ops <- func() {
			if q.live[j] && j.Restart == restart {
				j.signal(unix.SIGKILL)
			}
		}
	}))
}

// signal sends a signal to a running job's process group.
func (j *job) signal(sig syscall.Signal) {
	if j.start != nil {
		j.start.signal(sig)
		return
	}
	process.Group(j.proc.PID, sig)
}

// finish records how an attempt ended and decides what follows.
func (q *queue) finish(c *check) {
	j := c.job
	q.touched = boot.Uptime()
	if most := c.gpuMax; c.Obs.Usage != nil && most >= 0 {
		c.Obs.Usage.GPUMaxMem = &most
	}
	q.releaseGPUs(j)
	q.sweeper.Ended(j.spec.Token, j.attempt())
	j.locks, j.expired = nil, false
	if c.booked || j.Status == offer.Running { // or it never became a process
		q.book(j, -1)
	}
	stopAll(j)
	q.litter = append(q.litter, trash{c.Folder, &j.spec, j.simple, [2]string{
		attempt.LogPath(j.spec.Workdir, j.spec.Token, c.N, false), attempt.LogPath(j.spec.Workdir, j.spec.Token, c.N, true)}, c.Launch.Cgroup})
	j.simple = false
	obs := c.Obs
	j.Launch, j.tries = nil, 0
	again := false
	switch {
	case j.cancels || c.Launch.Cancelled:
		obs.Status, obs.Class = offer.Cancelled, ""
	case c.Verdict.Class == "":
		obs.Status = offer.Completed
	default:
		obs.Status, obs.Class = offer.Failed, c.Verdict.Class
		if obs.Class == failure.DiskFull || obs.Class == failure.NoInodes {
			j.place.doubt()
		}
		before := j.Shape
		if again = q.retries(j, c, &obs); again && j.Shape == before {
			q.countAgain(j, c.Verdict)
		}
	}
	j.Status, j.Obs = obs.Status, &obs
	if again {
		q.again(j)
		return
	}
	q.end(j, c)
}

// end closes a job for good.
func (q *queue) end(j *job, c *check) {
	q.closeBase(j)
	q.step(j, true)
	if j.secret {
		os.Remove(q.secretsPath(j.spec.Token))
	}
	if c != nil && j.Status != offer.Cancelled {
		q.count(j, c.Verdict)
	}
	close(j.ended)
	if j.Status == offer.Completed {
		for _, next := range j.feeds {
			if next.needs--; next.needs == 0 {
				q.ready(next)
			}
		}
		j.feeds = nil
	}
	j.timers = nil
}

// retries reports whether the policy that rides with a job starts it again,
// and notes on the job what changes then.
func (q *queue) retries(j *job, c *check, obs *offer.Observation) bool {
	r := j.spec.Retry
	v := c.Verdict
	next := r.After(retry.Failure{Class: v.Class, Action: v.Action, Launch: j.attempt(), Moved: c.Moved}, j.shape(), q.bound(j))
	switch {
	case next.Why == retry.NoProgress:
		obs.Reason = string(retry.NoProgress)
		return false
	case next.Why == retry.TooSmall:
		obs.Reason = "the next attempt needs more than this machine has"
		return false
	case !next.Again, j.Held:
		return false
	}
	if next.Grown {
		j.Shape = &next.Shape
	}
	if v.Class == failure.OOMGPU || v.Class == failure.GPULost {
		j.Avoid = append(j.Avoid, c.Launch.GPUs...)
	}
	obs.Status = offer.Waiting
	obs.Reason = "will be started again"
	if r.Delay > 0 {
		obs.Reason = "will be started again in " + r.Delay.String()
		obs.Expected = time.Now().Add(r.Delay)
	}
	return true
}

// again readies a job's next attempt.
func (q *queue) again(j *job) {
	// The step with the observation of the attempt that failed names the next.
	j.Restart++
	j.Leaves = j.Obs.Outputs
	j.Due = boot.DueIn(j.spec.Retry.Delay, boot.Now())
	q.closeBase(j)
	q.step(j, true)
	j.timers = nil
	q.ready(j)
}

// bound is the most that the machine can give a job.
func (q *queue) bound(j *job) retry.Bound {
	return retry.Bound{CPUs: j.place.Cores(), Memory: j.place.Bytes(), GPUs: q.gpus.Usable(j.place.Place, j.shape().GPU)}
}

// trimSIG is a signal's name without its prefix.
func trimSIG(name string) string {
	return strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(name)), "SIG")
}

func stopAll(j *job) {
	if j.unwatch != nil {
		j.unwatch()
		j.unwatch, j.silent = nil, ""
	}
	for _, t := range j.timers {
		t.Stop()
	}
	j.timers = nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
