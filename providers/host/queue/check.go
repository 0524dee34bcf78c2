package queue

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/host/queue/devices"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
	"github.com/muster-run/muster/providers/wrapper/guard"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// A check is an attempt whose process is gone, on its way to a verdict.
type check struct {
	job    *job
	gpuMax int64 // bytes that it had in use on one of its devices; -1 = unknown
	done   bool  // it has been examined
	booked bool  // its core is still its own
	// ctx belongs to its verification; a cancel of the job ends it.
	ctx  context.Context
	stop context.CancelFunc

	spec   *providers.Job
	n      int // from 1, over all tokens of the job
	launch attempt.Intent
	folder wrapper.Folder
	proc   process.ID
	shape  offer.Shape     // as scaled for its launch
	marks  verify.Baseline // its outputs before its first attempt
	found  *verify.Result  // its outputs; nil = not verified yet
	ground guard.Start     // the files it may find at its output paths
	// Secrets is the file of the secrets that it was given; "" = none.
	secrets string

	waited bool // status and usage come from the kernel
	status unix.WaitStatus
	usage  unix.Rusage
	peak   *process.Peak // of the child that was waited for

	expired   bool   // its walltime was over
	doubted   string // the folder that took nothing more; "" = none
	rebooted  bool
	host      string // the fault of the whole machine; "" = none known
	cancelled bool

	before      devices.Snapshot // its devices before it started; nil = unknown
	reader      gpu.Reader
	killsBefore int64        // oom_kill of the machine before it started; -1 = unknown
	kills       func() int64 // and as it is

	mask    wrapper.Mask
	obs     offer.Observation // so far; conclude adds how it ended
	verdict failure.Verdict
	moved   bool // the checkpoint moved
	// Unclaimed says that nothing ran: the start may be repeated.
	unclaimed bool
	// Holder is another process that claimed the token first.
	holder process.ID
}

func (st *starts) newCheck(j *job) *check {
	return &check{job: j, gpuMax: -1, spec: &j.spec, secrets: st.secretsOf(j), n: j.attempt(), launch: *j.Launch, shape: j.shape(), folder: wrapper.Folder(st.folder(j)),
		proc: process.ID{PID: j.pid()}, marks: st.bases.get(baseKey(j)), expired: j.expired, cancelled: j.cancels,
		killsBefore: j.oomKill, kills: st.killed, before: j.before, reader: st.allocator.devices.Reader, obs: st.observe(j), ground: ground(j)}
}

// checkOf is the check of a start; it needs nothing of the job's own.
func (st *starts) checkOf(s *start) *check {
	return &check{job: s.job, gpuMax: -1, spec: s.spec, secrets: s.secrets, n: s.attempt, launch: s.launch, shape: s.shape, folder: s.folder, peak: &s.peak,
		killsBefore: s.oomKill, kills: st.killed, before: s.job.before, reader: st.allocator.devices.Reader, obs: s.obs, ground: s.ground}
}

// maxChecks is how many attempts of a campaign are examined at a time. One
// whose outputs take long keeps none of another campaign's waiting.
var maxChecks = 2 * max(2, runtime.GOMAXPROCS(0))

// examine finds out how an attempt ended.
func (as *attempts) examine(ctx context.Context, c *check) {
	if !c.rebooted && !c.group().Quiet() {
		as.settleGroup(ctx, c)
	}
	defer context.AfterFunc(ctx, c.stop)()
	select {
	case c.job.place.checks <- struct{}{}:
		defer func() { <-c.job.place.checks }()
	case <-c.ctx.Done(): // it is cancelled: there is nothing to look at
	}
	c.conclude(c.ctx)
	if ctx.Err() == nil { // else the next queue verifies it
		as.post(ctx, func() { as.checked(c) })
	}
}

// checked handles a verdict.
func (as *attempts) checked(c *check) {
	as.busy--
	c.job.place.checking--
	j := c.job
	j.check = nil
	switch {
	case c.holder.PID != 0:
		as.rebook(c)
		j.Status, j.proc = offer.Running, c.holder
		as.adoptOne(j)
	case c.unclaimed && !j.cancels && j.tries < maxTries:
		as.rebook(c)
		j.Status = offer.Running
		as.live[j] = true
		s := as.starts.newStart(j)
		s.again = true
		time.AfterFunc(repeatDelay<<min(j.tries, 6), func() { as.ops <- func() { as.due = append(as.due, s) } })
		j.tries++
	default:
		as.finish(c)
	}
}

// rebook takes the resources again for an attempt that continues.
func (as *attempts) rebook(c *check) {
	if !c.booked {
		as.book(c.job, 1)
	}
}

// A start without a claim is repeated, with growing pauses.
const (
	repeatDelay = 50 * time.Millisecond
	maxTries    = 20
)
