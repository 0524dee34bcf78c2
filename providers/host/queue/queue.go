// Package queue runs the jobs of one user on one machine: what may start and
// fits is started, watched, checked and tried again as its policy says, and
// every step is in a log before it is told, so that a queue which is killed
// goes on where it was.
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
	"github.com/muster-run/muster/providers/host/boot"
	"github.com/muster-run/muster/providers/host/cgroup"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/journal"
	"github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/host/queue/devices"
	"github.com/muster-run/muster/providers/host/queue/sweep"
	"github.com/muster-run/muster/providers/host/spool"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
)

// A queue runs the jobs of one user on one machine. One goroutine, run, owns
// everything below; others hand it functions.
//
//	          ┌────────────── retry after delay ──────────────┐
//	          ▼                                                │
//	queued ─▶ running ─(process gone)─▶ verifying ─▶ completed │
//	  │          │                          └─▶ failed ─▶ waiting
//	  └──────────┴─▶ cancelled
type queue struct {
	spool   string
	id      string // random name of the log's history
	host    string
	script  string // the installed wrapper
	journal *journal.Log[entry]
	ops     chan func()
	toCheck []*check // to be examined from the end of the turn on
	tell    *bell    // rung when durable events are there

	places map[string]*place
	byN    []*place
	turn   int // whose turn it is in the round robin
	jobs   map[string]*job
	graves map[string]graveEntry
	fences map[string]providers.Fence // by lineage
	bases  baselines
	// environs are what jobs' environments start from, by digest.
	environs map[string][]providers.EnvVar

	seq      uint64
	durable  uint64 // events up to here may be told
	order    int64
	used     used
	gpus     devices.Rack
	live     map[*job]bool // being started, running children and adopted
	stuck    error         // why the log cannot be written, nil if it can
	full     error         // why the spool has no room for a job's folder; forgotten at the next tick
	yielded  bool          // a newer queue takes over: nothing starts
	leaves   bool          // its spool is to go with it
	busy     int           // starts and checks under way
	folded   int64         // size of the log after the last compaction
	touched  time.Duration // uptime when something last happened
	sweeper  sweep.Sweeper
	syncing  bool
	synced   time.Duration // uptime of the last fsync for events
	gap      time.Duration // and how long the next one waits after it
	told     atomic.Uint64 // events up to here are in the file
	due      []*start      // to be carried out at the end of the turn
	trash    chan []trash  // to the janitor
	litter   []trash       // of attempts whose end is recorded in this turn
	cgroups  cgroup.Tree
	kills    killCount
	killed   func() int64  // how many processes the machine has killed for memory
	starved  time.Duration // see starvation
	shelf    wrapper.Shelf
	thorough bool // a little litter is cleared away, too
	logs     spool.Logs
	umask    *int // of jobs that name none
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
	environ string // digest of what its environment starts from
	secret  bool   // its secrets lie in the spool
	memory

	taken bool // its submission is on the disk

	needs   int    // jobs it waits for
	feeds   []*job // jobs that wait for it
	lane    *lane
	proc    process.ID
	start   *start // the start that is ours to wait for; nil: adopted
	simple  bool   // its folder may be used again
	locks   []*os.File
	ended   chan struct{} // closed when it has ended for good
	cancels bool          // a cancel is under way
	check   *check        // set while its attempt is examined
	expired bool          // its walltime was over
	timers  []*time.Timer
	tries   int           // starts that did not come to a claim
	oomKill int64         // oom_kill of the machine before it started; -1 = unknown
	before  devices.Marks // its devices before it started; nil = unknown
	use     gpu.Use
	unwatch context.CancelFunc // ends the goroutine that follows its output; nil without
	silent  string             // that it is stalled, in words; "" if it is not
}

// memory is what the log remembers of a job beside its specification.
type memory struct {
	Status  offer.Status `json:"s"`
	Restart int          `json:"n,omitempty"`
	// Launch is set while a start may have left a process.
	Launch   *attempt.Launch    `json:"l,omitempty"`
	Shape    *offer.Shape       `json:"shape,omitempty"` // scaled; nil = the spec's
	Avoid    []string           `json:"avoid,omitempty"` // GPUs that failed it
	Held     bool               `json:"held,omitempty"`
	Alike    *breaker.Row       `json:"alike,omitempty"` // failures that it was started again after
	Leaves   []offer.Output     `json:"left,omitempty"`  // of the launch before
	Obs      *offer.Observation `json:"o,omitempty"`
	boot.Due                    // not to be started before
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
func (q *queue) folder(j *job) string {
	return filepath.Join(q.spool, "jobs", fmt.Sprintf("%s.%d", j.spec.Token, j.Restart))
}

// ask runs fn in the queue's goroutine and gives what it answers. After an
// error fn may still run, and its answer goes nowhere.
func ask[T any](ctx context.Context, q *queue, fn func() T) (T, error) {
	answer := make(chan T, 1)
	q.post(ctx, func() { answer <- fn() })
	select {
	case a := <-answer:
		return a, nil
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// do runs fn in the queue's goroutine and waits for it. If it fails, fn may
// still run: what it writes to is then not to be looked at. What answers is
// an ask.
func (q *queue) do(ctx context.Context, fn func()) error {
	done := make(chan struct{})
	select {
	case q.ops <- func() { fn(); close(done) }:
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
func (q *queue) post(ctx context.Context, fn func()) {
	select {
	case q.ops <- fn:
	case <-ctx.Done():
	}
}

// put records an entry. It is in the file after the turn, and on the disk
// before anything it says is told to anybody.
func (q *queue) put(e entry) { q.journal.Append(&e) }

// step records where a job is; told says that watchers are to hear of it.
func (q *queue) step(j *job, told bool) {
	e := entry{Step: &stepEntry{Token: j.spec.Token, Now: j.memory}}
	if told {
		q.seq++
		e.Seq = q.seq
		j.place.events = append(j.place.events, event{seq: q.seq, obs: *j.Obs})
	}
	q.put(e)
}

// note records something that is about a place rather than a job.
func (q *queue) note(p *place, n providers.Note) {
	q.seq++
	q.put(entry{Seq: q.seq, Event: &eventEntry{Place: p.n, Note: &n}})
	p.events = append(p.events, event{seq: q.seq, note: &n})
}
