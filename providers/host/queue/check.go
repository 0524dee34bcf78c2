package queue

import (
	"context"
	"runtime"
	"time"

	"github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/host/queue/aftermath"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
)

// A check is an attempt whose process is gone, on its way to a verdict.
type check struct {
	aftermath.Attempt
	job    *job
	gpuMax int64 // bytes that it had in use on one of its devices; -1 = unknown
	done   bool  // it has been examined
	booked bool  // its core is still its own
	// ctx is of its verification; a cancel of the job ends it.
	ctx  context.Context
	stop context.CancelFunc
}

func (q *queue) newCheck(j *job) *check {
	return &check{job: j, gpuMax: -1, Attempt: aftermath.Attempt{Spec: &j.spec, Secrets: q.secretsOf(j), N: j.attempt(), Launch: *j.Launch, Shape: j.shape(), Folder: wrapper.Folder(q.folder(j)),
		Proc: process.ID{PID: j.pid()}, Marks: q.bases.get(baseKey(j)), Expired: j.expired, Cancelled: j.cancels,
		OOMKill: j.oomKill, OOMKills: q.killed, Before: j.before, GPUs: q.gpus.Reader, Obs: q.observe(j)}}
}

// checkOf is the check of a start; it needs nothing of the job's own.
func (q *queue) checkOf(s *start) *check {
	return &check{job: s.job, gpuMax: -1, Attempt: aftermath.Attempt{Spec: s.spec, Secrets: s.secrets, N: s.attempt, Launch: s.launch, Shape: s.shape, Folder: s.folder, Peak: &s.peak,
		OOMKill: s.oomKill, OOMKills: q.killed, Before: s.job.before, GPUs: q.gpus.Reader, Obs: s.obs}}
}

// maxChecks is how many attempts of a campaign are examined at a time. One
// whose outputs take long keeps none of another campaign's waiting.
var maxChecks = 2 * max(2, runtime.GOMAXPROCS(0))

// examine finds out how an attempt ended.
func (q *queue) examine(ctx context.Context, c *check) {
	if !c.Rebooted && !c.Group().Quiet() {
		q.settleGroup(ctx, c)
	}
	defer context.AfterFunc(ctx, c.stop)()
	select {
	case c.job.place.checks <- struct{}{}:
		defer func() { <-c.job.place.checks }()
	case <-c.ctx.Done(): // it is cancelled: there is nothing to look at
	}
	c.Examine(c.ctx)
	if ctx.Err() == nil { // else the next queue verifies it
		q.post(ctx, func() { q.checked(c) })
	}
}

// checked takes a verdict in.
func (q *queue) checked(c *check) {
	q.busy--
	c.job.place.checking--
	j := c.job
	j.check = nil
	switch {
	case c.Holder.PID != 0:
		q.rebook(c)
		j.Status, j.proc = offer.Running, c.Holder
		q.adoptOne(j)
	case c.Unclaimed && !j.cancels && j.tries < maxTries:
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
