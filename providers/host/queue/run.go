package queue

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"

	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/offer"
)

// stuckRetry is how often a log that could not be written is tried again.
const stuckRetry = time.Second

// run is the queue's goroutine: it folds events, writes the log, and starts jobs.
func (q *queue) run(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	var workers sync.WaitGroup
	workers.Go(func() { q.janitor.run(ctx) })
	workers.Go(func() { q.attempts.capLogs(ctx) })
	defer workers.Wait()
	defer stop()
	retry := time.NewTicker(stuckRetry)
	defer retry.Stop()
	q.turnOver(ctx)
	for {
		select {
		case fn := <-q.ops:
			fn()
			q.drain()
		case <-retry.C:
			q.tick()
		case <-ctx.Done():
			return
		}
		q.turnOver(ctx)
	}
}

// drain runs all queued functions, so that one write and one fsync serve many.
func (q *queue) drain() {
	for range 256 {
		select {
		case fn := <-q.ops:
			fn()
		default:
			return
		}
	}
}

// turnOver ends a turn: it decides what starts, writes the decisions to the log, and only then
// starts jobs and notifies watchers.
func (q *queue) turnOver(ctx context.Context) {
	q.due = append(q.due, q.scheduler.schedule()...)
	// Starts write the log themselves, and one write serves both.
	if len(q.due) == 0 || len(q.attempts.trash) > maxTrash {
		was := q.stuck
		if q.stuck = q.journal.Flush(); q.stuck == nil {
			q.janitor.cleanUp()
			q.compaction.compact()
		} else if was == nil {
			q.watchers.notify() // watchers hear why nothing starts
		}
	}
	q.told.Store(q.seq)
	for _, s := range q.due {
		go q.attempts.runStart(ctx, s)
	}
	q.due = q.due[:0]
	for _, c := range q.attempts.toCheck {
		go q.attempts.examine(ctx, c)
	}
	q.attempts.toCheck = q.attempts.toCheck[:0]
	if q.seq > q.events.durable && !q.syncing && q.stuck == nil {
		q.syncing = true
		go q.commit(ctx, q.synced, q.gap)
	}
}

// The least time between two fsyncs for events. A single event goes out at once, and some
// share an fsync. Where events stream, waiting for more pays: each message wakes two processes
// and causes two more fsyncs.
const (
	commitGap = 5 * time.Millisecond
	streamGap = 20 * time.Millisecond
	streaming = 8 // events of one fsync that count as a stream
)

// commit makes events durable and notifies watchers.
func (q *queue) commit(ctx context.Context, last, gap time.Duration) {
	if wait := last + gap - monotonic.Uptime(); wait > 0 {
		time.Sleep(min(wait, gap))
	}
	upTo := q.told.Load()
	err := q.journal.Sync()
	q.post(ctx, func() {
		q.syncing = false
		q.synced = monotonic.Uptime()
		if err != nil {
			q.stuck = err
			return
		}
		if q.gap = commitGap; upTo >= q.events.durable+streaming {
			q.gap = streamGap
		}
		q.events.durable = max(q.events.durable, upTo)
		q.watchers.notify()
	})
}

// tick looks for lingering processes and for GPUs that others have released.
func (q *queue) tick() {
	q.janitor.thorough, q.full = true, nil
	q.attempts.sweeper.sweep(q.hasEnded)
	q.volumes.watchRoom()
	q.allocator.watchGPUs()
	q.allocator.lookAtUse()
}

// idle reports whether nothing is left that would happen by itself.
func (q *queue) idle() bool {
	if q.attempts.busy > 0 || len(q.live) > 0 || q.attempts.sweeper.pending() || q.seq > q.events.durable {
		return false
	}
	for _, p := range q.byN {
		for _, l := range p.queues {
			if l.first() != nil && q.scheduler.mayStart(p, l) == "" {
				return false
			}
		}
	}
	for _, j := range q.jobs {
		if j.Status == offer.Waiting && !j.Held {
			return false
		}
	}
	return true
}

// A notifier wakes all that wait for it.
type notifier struct {
	mu sync.Mutex
	c  chan struct{}
}

func newNotifier() *notifier { return &notifier{c: make(chan struct{})} }

// next is closed by the next notify.
func (b *notifier) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.c
}

func (b *notifier) notify() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.c)
	b.c = make(chan struct{})
}

// newID is 64 random bits as text.
func newID() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
