package queue

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/retry"
)

// attempts watches attempts while they run, examines them when their process is gone, and
// repeats them as their policy says. An attempt holds its resources from its start to its end.
type attempts struct {
	*core
	breakers     *breakers
	dependencies *dependencies
	allocator    *allocator
	starts       *starts
	volumes      *volumes
	used         used
	busy         int      // starts and checks under way
	toCheck      []*check // to be examined from the end of the turn on
	trash        []trash  // of attempts whose end is recorded in this turn
	sweeper      sweeper
	kills        killCount
}

// notStarted ends a job that could not be started, unless it was the spool
// that could not be written: that is waited out.
func (as *attempts) notStarted(s *start) {
	j := s.job
	as.touched = monotonic.Uptime()
	delete(as.live, j)
	j.start = nil
	stopAll(j)
	if s.unwritten != nil {
		as.full = s.unwritten
		as.watchers.notify()
		as.unstart(s)
		return
	}
	if !j.expired && as.volumes.lostWorkdir(s) {
		as.unstart(s)
		return
	}
	c := as.starts.newCheck(j)
	class := attempt.StartClass(s.err)
	if j.expired {
		class = failure.Walltime // its inputs took that long to read
	}
	c.obs.Status, c.obs.Reason, c.obs.Ended = offer.Failed, s.err.Error(), time.Now()
	c.obs.NotRun, c.obs.Notes = true, attempt.Notes(&j.spec, c.n)
	if class != failure.NotItsOwn { // which has a reason, and no log
		c.obs.Tail = []string{s.err.Error()}
	}
	c.verdict = failure.Verdict{Class: class, Line: s.err.Error(), Signature: class + ": " + s.err.Error()}
	as.finish(c)
}

// childGone handles the end of a child.
func (as *attempts) childGone(s *start, c *check) {
	j := s.job
	j.simple = s.simple
	c.expired, c.cancelled, c.launch.Stalled = j.expired, j.cancels, j.Launch.Stalled
	c.gpuMax = j.used(monotonic.Uptime())
	as.left(c)
	if c.done {
		as.checked(c)
	}
}

// left has a job examined after its process is gone, unless an examination is under way. A job
// that exited 0 gives its core to the next; after any other, the breaker decides first. The
// job keeps its GPUs until its outputs are checked.
func (as *attempts) left(c *check) {
	j := c.job
	delete(as.live, j)
	j.start = nil
	stopAll(j)
	if c.booked = !c.waited || c.status != 0; !c.booked {
		as.book(j, -1)
	}
	j.Status = offer.Verifying
	as.busy++
	j.place.checking++
	if c.done {
		return
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	j.check = c
	as.toCheck = append(as.toCheck, c)
	restart := j.Restart
	j.timers = append(j.timers, time.AfterFunc(verifyNotice, func() {
		as.ops <- func() {
			if j.Status == offer.Verifying && j.Restart == restart {
				obs := as.observe(j)
				j.Obs = &obs
				as.step(j, true)
			}
		}
	}))
}

// verifyNotice is how long a verification runs before watchers hear of it.
const verifyNotice = time.Second

// watchOver sets the clocks of a running job: checkpoint signal and walltime.
func (as *attempts) watchOver(j *job) {
	as.watchOutput(j)
	as.copyOut(j)
	limit := j.shape().Walltime
	if limit <= 0 {
		return
	}
	ran := monotonic.Uptime() - time.Duration(j.Launch.Up)
	restart := j.Restart
	at := func(d time.Duration, fn func()) {
		j.timers = append(j.timers, time.AfterFunc(max(d-ran, 0), func() {
			as.ops <- func() {
				if j.Restart == restart && as.live[j] {
					fn()
				}
			}
		}))
	}
	if ck := j.spec.Checkpoint; ck.Signal != "" && ck.Grace > 0 && ck.Grace < limit && ran < limit-ck.Grace {
		at(limit-ck.Grace, func() {
			c := as.starts.newCheck(j)
			c.proc.PID = j.pid()
			go c.group().SignalProgram(unix.SignalNum("SIG" + trimSIG(ck.Signal)))
		})
	}
	at(limit, func() {
		j.expired = true
		as.terminate(j, j.spec.Grace)
	})
}

// defaultGrace is the time between TERM and KILL where a job names none.
const defaultGrace = 30 * time.Second

// terminate ends a running job: politely, then hard.
func (as *attempts) terminate(j *job, grace time.Duration) {
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
		as.ops <- func() {
			if as.live[j] && j.Restart == restart {
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
func (as *attempts) finish(c *check) {
	j := c.job
	as.touched = monotonic.Uptime()
	if most := c.gpuMax; c.obs.Usage != nil && most >= 0 {
		c.obs.Usage.GPUMaxMem = &most
	}
	as.allocator.releaseGPUs(j)
	as.sweeper.end(j.spec.Token, j.attempt())
	j.locks, j.expired = nil, false
	if c.booked || j.Status == offer.Running { // or it never became a process
		as.book(j, -1)
	}
	stopAll(j)
	as.trash = append(as.trash, trash{c.folder, &j.spec, j.simple, [2]string{
		attempt.LogPath(j.spec.Workdir, j.spec.Token, c.n, false), attempt.LogPath(j.spec.Workdir, j.spec.Token, c.n, true)}, c.launch.Cgroup, c.launch.Scratch})
	j.simple = false
	obs := c.obs
	j.Launch, j.tries = nil, 0
	again := false
	switch {
	case j.cancels || c.launch.Cancelled:
		obs.Status, obs.Class = offer.Cancelled, ""
	case c.verdict.Class == "":
		obs.Status = offer.Completed
	default:
		obs.Status, obs.Class = offer.Failed, c.verdict.Class
		if failure.AwaitsRoom(obs.Class) {
			j.place.doubt(cmp.Or(c.doubted, j.place.Workdir))
		}
		before := j.Shape
		if again = as.retries(j, c, &obs); again && j.Shape == before {
			as.breakers.countAgain(j, c.verdict)
		}
	}
	j.Status, j.Obs = obs.Status, &obs
	if again {
		as.again(j)
		return
	}
	as.end(j, c)
}

// end closes a job for good.
func (as *attempts) end(j *job, c *check) {
	as.closeBase(j)
	as.step(j, true)
	if j.secret {
		os.Remove(as.secretsPath(j.spec.Token))
	}
	if c != nil && j.Status != offer.Cancelled {
		as.breakers.count(j, c.verdict)
	}
	close(j.ended)
	as.dependencies.followers(j)
	j.timers = nil
}

// retries reports whether the job's policy starts it again, and sets the changed request on
// the job.
func (as *attempts) retries(j *job, c *check, obs *offer.Observation) bool {
	r := j.spec.Retry
	v := c.verdict
	next := r.After(retry.Failure{Class: v.Class, Action: v.Action, Launch: j.attempt(), Moved: c.moved}, j.shape(), as.bound(j))
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
		j.Avoid = append(j.Avoid, c.launch.GPUs...)
	}
	obs.Status = offer.Waiting
	obs.Reason = "retrying"
	if r.Delay > 0 {
		obs.Expected = time.Now().Add(r.Delay)
	}
	return true
}

// again readies a job's next attempt.
func (as *attempts) again(j *job) {
	// The step with the observation of the attempt that failed names the next.
	if j.Obs.NotRun {
		j.NotRun++
	} else {
		j.Leaves, j.LeavesOf = j.Obs.Outputs, j.Restart
	}
	j.Restart++
	j.Due = monotonic.DueIn(j.spec.Retry.Delay, monotonic.Now())
	as.closeBase(j)
	as.step(j, true)
	j.timers = nil
	as.dependencies.release(j)
}

// bound is the most that the machine can give a job.
func (as *attempts) bound(j *job) retry.Bound {
	return retry.Bound{CPUs: j.place.Cores(), Memory: j.place.Bytes(), GPUs: as.allocator.devices.Usable(j.place.Tenant, j.shape().GPU)}
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
	if j.uncopy != nil {
		j.uncopy()
		j.uncopy, j.uncopied = nil, ""
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

// adoptOne watches over a running process that is not a child.
func (as *attempts) adoptOne(j *job) {
	j.start = nil
	j.proc.Start, _ = process.StartTime(j.proc.PID)
	as.live[j] = true
	as.watchOver(j)
	if j.Launch.Cancelled {
		j.cancels = true
		as.terminate(j, j.spec.Grace)
	}
	p, restart := j.proc, j.Restart
	go func() {
		p.Await()
		as.ops <- func() {
			if as.live[j] && j.start == nil && j.Restart == restart {
				as.lost(j, "")
			}
		}
	}()
}

// lost has a job examined whose process is gone without a status from the kernel. host says
// what happened to the machine, "" if that is unknown.
func (as *attempts) lost(j *job, host string) {
	c := as.starts.newCheck(j)
	c.rebooted, c.host = j.Launch.Boot != monotonic.ID(), host
	as.left(c)
}

func (as *attempts) cancelOne(token string, grace time.Duration) string {
	j := as.jobs[token]
	if j == nil {
		if _, ok := as.tombstones[token]; ok {
			return "ended already"
		}
		return "not found"
	}
	switch j.Status {
	case offer.Completed, offer.Failed, offer.Cancelled:
		return "ended already"
	case offer.Queued, offer.Waiting:
		as.endUnstarted(j, "")
		return "cancelled"
	}
	if !j.cancels {
		j.cancels = true
		j.Launch.Cancelled = true
		as.step(j, false)
		if grace <= 0 {
			grace = j.spec.Grace
		}
		if j.check != nil { // it verifies
			j.check.stop()
		} else {
			as.terminate(j, grace)
		}
	}
	return "cancelled"
}

// endUnstarted cancels a job that does not run, for a cause, "" if somebody asked for it.
func (as *attempts) endUnstarted(j *job, cause offer.Cause) {
	stopAll(j)
	obs := as.observe(j)
	if j.Obs != nil && j.Status == offer.Waiting {
		obs = *j.Obs
	}
	obs.Status, obs.Ended, obs.Reason, obs.Cause, obs.Class = offer.Cancelled, time.Now(), string(cause), cause, ""
	j.Status, j.Obs, j.queue = offer.Cancelled, &obs, nil
	as.end(j, nil)
}

// book takes a job's resources (1), or returns them (-1).
func (as *attempts) book(j *job, n int) {
	s := j.shape()
	as.used.cpus += n * machine.CoresOf(s)
	as.used.memory += int64(n) * s.Memory
	as.used.jobs += n
	j.place.running += n
	j.place.phases[j.spec.Phase] += n
	if n > 0 {
		as.allocator.devices.Hold(j.Launch.GPUs, j.place.Tenant)
	}
}

// unstart takes back a start that could not be written down.
func (as *attempts) unstart(s *start) {
	j := s.job
	as.book(j, -1)
	as.allocator.releaseGPUs(j)
	j.Status, j.Launch, j.start = offer.Queued, nil, nil
	as.step(j, false)
	j.place.events = slices.DeleteFunc(j.place.events, func(e event) bool { return e.seq == s.seq })
	if j.cancels {
		j.cancels = false
		as.cancelOne(j.spec.Token, 0)
		return
	}
	as.dependencies.release(j)
}
