// Package queue runs the jobs of one user on one machine. It starts, watches,
// verifies and retries them as their policy says. It logs every step before it
// reports it, so that a queue that was killed continues where it stopped.
package queue

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure/breaker"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/host/queue/devices"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
)

// A queue runs the jobs of one user on one machine. One goroutine, run, owns
// everything below; others hand it functions. Each part owns a piece of state
// and uses only the parts before it.
//
//	          ┌────────────── retry after delay ──────────────┐
//	          ▼                                                │
//	queued ─▶ running ─(process gone)─▶ verifying ─▶ completed │
//	  │          │                          └─▶ failed ─▶ waiting
//	  └──────────┴─▶ cancelled
type queue struct {
	*core
	allocator   *allocator
	volumes     *volumes
	starts      *starts
	attempts    *attempts
	submissions *submissions
	events      *events
	compaction  *compaction
	requests    *requests
	scheduler   *scheduler
	janitor     *janitor
	adoption    *adoption
	loader      *loader

	syncing bool
	synced  time.Duration // uptime of the last fsync for events
	gap     time.Duration // and how long the next one waits after it
	told    atomic.Uint64 // events up to here are in the file
}

// newQueue is an empty queue without a log.
func newQueue() *queue {
	c := &core{ops: make(chan func(), 256), watchers: newNotifier(), places: map[string]*place{}, jobs: map[string]*job{}, tombstones: map[string]tombstoneEntry{},
		live: map[*job]bool{}, touched: monotonic.Uptime()}
	q := &queue{core: c}
	bs, ls := &breakers{core: c}, &dependencies{core: c}
	q.allocator = &allocator{core: c}
	q.volumes = &volumes{core: c}
	q.starts = &starts{core: c, allocator: q.allocator, environs: map[string][]providers.EnvVar{}, killed: machine.OOMKills}
	q.attempts = &attempts{core: c, breakers: bs, dependencies: ls, allocator: q.allocator, starts: q.starts, volumes: q.volumes}
	ls.attempts = q.attempts
	q.submissions = &submissions{core: c, dependencies: ls, starts: q.starts, fences: map[string]providers.Fence{}}
	q.events = &events{core: c}
	q.compaction = &compaction{core: c, events: q.events, submissions: q.submissions, starts: q.starts}
	q.requests = &requests{core: c, attempts: q.attempts, breakers: bs, compaction: q.compaction, events: q.events, submissions: q.submissions, dependencies: ls, allocator: q.allocator}
	q.scheduler = &scheduler{core: c, attempts: q.attempts, allocator: q.allocator, starts: q.starts, volumes: q.volumes, starved: starvation}
	q.janitor = &janitor{core: c, attempts: q.attempts, starts: q.starts, trash: make(chan []trash, 16)}
	q.adoption = &adoption{core: c, attempts: q.attempts, scheduler: q.scheduler, starts: q.starts}
	q.loader = &loader{core: c, events: q.events, submissions: q.submissions, dependencies: ls, starts: q.starts}
	return q
}

type used struct {
	cpus   int
	memory int64
	jobs   int
}

// A job as the queue knows it.
type job struct {
	spec    providers.Job
	place   *place
	order   int64
	hash    string
	environ string // digest of its base environment
	secret  bool   // its secrets are in the spool
	jobState

	taken bool // its submission is on the disk

	needs int    // jobs it waits for
	feeds []*job // jobs that wait for it
	// orphaned: a job that it comes after ended without success.
	orphaned bool
	queue    *readyQueue
	proc     process.ID
	start    *start // the start that is ours to wait for; nil: adopted
	simple   bool   // its folder may be used again
	locks    []*os.File
	ended    chan struct{} // closed when it has ended for good
	cancels  bool          // a cancel is under way
	check    *check        // set while its attempt is examined
	expired  bool          // its walltime was over
	timers   []*time.Timer
	tries    int              // starts without a claim
	oomKill  int64            // oom_kill of the machine before it started; -1 = unknown
	before   devices.Snapshot // its devices before it started; nil = unknown
	use      gpu.Use
	unwatch  context.CancelFunc // ends the goroutine that follows its output; nil without
	silent   string             // that it is stalled, in words; "" if it is not

	uncopy   context.CancelFunc // ends the copies of its checkpoint; nil without
	uncopied string             // why its checkpoint is not copied yet, in words
}

// jobState is the part of a job that the log keeps beside its specification.
type jobState struct {
	Status  offer.Status `json:"s"`
	Restart int          `json:"n,omitempty"`
	// Launch is set while a start may have left a process.
	Launch        *attempt.Intent    `json:"l,omitempty"`
	Shape         *offer.Shape       `json:"shape,omitempty"` // scaled; nil = the spec's
	Avoid         []string           `json:"avoid,omitempty"` // GPUs that failed it
	Held          bool               `json:"held,omitempty"`
	Alike         *breaker.Streak    `json:"alike,omitempty"`  // failures that it was started again after
	Leaves        []offer.Output     `json:"left,omitempty"`   // of the last launch whose command ran
	LeavesOf      int                `json:"lefts,omitempty"`  // the restart of that launch
	NotRun        int                `json:"notrun,omitempty"` // launches before this one whose command did not begin
	Obs           *offer.Observation `json:"o,omitempty"`
	monotonic.Due                    // not to be started before
}

func (j *job) shape() offer.Shape {
	if j.Shape != nil {
		return *j.Shape
	}
	return j.spec.Shape
}

// pid is the number of a running job's wrapper, 0 if it is not known.
func (j *job) pid() int {
	if j.start != nil {
		return j.start.number()
	}
	return j.proc.PID
}

// attempt counts launches from 1, over all tokens of the job.
func (j *job) attempt() int { return wrapper.Attempt(&j.spec, j.Restart) }

// over reports whether the job has ended for good.
func (j *job) over() bool {
	switch j.Status {
	case offer.Completed, offer.Failed, offer.Cancelled:
		return true
	}
	return false
}

// folder is the job's directory while it runs.
func (c *core) folder(j *job) string {
	return filepath.Join(c.spool, "jobs", fmt.Sprintf("%s.%d", j.spec.Token, j.Restart))
}

// ask runs fn in the queue's goroutine and returns its answer. After an error fn may still
// run, and its answer is lost.
func ask[T any](ctx context.Context, c *core, fn func() T) (T, error) {
	answer := make(chan T, 1)
	c.post(ctx, func() { answer <- fn() })
	select {
	case a := <-answer:
		return a, nil
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// do runs fn in the queue's goroutine and waits for it. After an error fn may still run, so
// the caller must not read values that fn writes. Use ask for an answer.
func (c *core) do(ctx context.Context, fn func()) error {
	done := make(chan struct{})
	select {
	case c.ops <- func() { fn(); close(done) }:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// post hands fn to the queue's goroutine.
func (c *core) post(ctx context.Context, fn func()) {
	select {
	case c.ops <- fn:
	case <-ctx.Done():
	}
}

// put records an entry. It is in the file after the turn, and on disk before anybody hears of
// it.
func (c *core) put(e entry) { c.journal.Append(&e) }

// step records the state of a job; told makes it an event for watchers.
func (c *core) step(j *job, told bool) {
	e := entry{Step: &stepEntry{Token: j.spec.Token, Now: j.jobState}}
	if told {
		c.seq++
		e.Seq = c.seq
		j.place.events = append(j.place.events, event{seq: c.seq, obs: *j.Obs})
	}
	c.put(e)
}

// note records something that is about a place rather than a job.
func (c *core) note(p *place, n providers.Note) {
	c.seq++
	c.put(entry{Seq: c.seq, Event: &eventEntry{Place: p.n, Note: &n}})
	p.events = append(p.events, event{seq: c.seq, note: &n})
}
