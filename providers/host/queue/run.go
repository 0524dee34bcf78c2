package queue

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"

	"github.com/muster-run/muster/providers/host/boot"
	"github.com/muster-run/muster/providers/offer"
)

// stuckRetry is how often a log that could not be written is tried again.
const stuckRetry = time.Second

// run is the queue's goroutine: it folds what happened, writes it down, and
// starts what may start.
func (q *queue) run(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	var workers sync.WaitGroup
	workers.Go(func() { q.janitor(ctx) })
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

// drain takes what else has been handed over, so that one write and one
// fsync serve many.
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

// turnOver ends a turn: starts what may start, writes down what was decided,
// and only then lets it happen and be told.
func (q *queue) turnOver(ctx context.Context) {
	q.due = append(q.due, q.schedule()...)
	// Starts write the log themselves, and one write serves both.
	if len(q.due) == 0 || len(q.litter) > maxLitter {
		was := q.stuck
		if q.stuck = q.journal.Flush(); q.stuck == nil {
			q.cleanUp()
			q.compact()
		} else if was == nil {
			q.tell.ring() // watchers are told why nothing starts
		}
	}
	q.told.Store(q.seq)
	for _, s := range q.due {
		go q.runStart(ctx, s)
	}
	q.due = q.due[:0]
	for _, c := range q.toCheck {
		go q.examine(ctx, c)
	}
	q.toCheck = q.toCheck[:0]
	if q.seq > q.durable && !q.syncing && q.stuck == nil {
		q.syncing = true
		go q.commit(ctx, q.synced, q.gap)
	}
}

// The least time between two fsyncs for events: a single event is told at
// once, some share one, and where they stream it pays to wait for more, as each
// telling wakes two processes and has two more fsyncs follow it.
const (
	commitGap = 5 * time.Millisecond
	streamGap = 20 * time.Millisecond
	streaming = 8 // events of one fsync that count as a stream
)

// commit makes events durable and tells of them.
func (q *queue) commit(ctx context.Context, last, gap time.Duration) {
	if wait := last + gap - boot.Uptime(); wait > 0 {
		time.Sleep(min(wait, gap))
	}
	upTo := q.told.Load()
	err := q.journal.Sync()
	q.post(ctx, func() {
		q.syncing = false
		q.synced = boot.Uptime()
		if err != nil {
			q.stuck = err
			return
		}
		if q.gap = commitGap; upTo >= q.durable+streaming {
			q.gap = streamGap
		}
		q.durable = max(q.durable, upTo)
		q.tell.ring()
	})
}

// tick is the slow pulse: lingering processes, GPUs that strangers give back.
func (q *queue) tick() {
	q.thorough, q.full = true, nil
	q.sweeper.Sweep(q.hasEnded)
	q.watchRoom()
	q.watchGPUs()
	q.lookAtUse()
}

// idle reports whether nothing is left that would happen by itself.
func (q *queue) idle() bool {
	if q.busy > 0 || len(q.live) > 0 || q.sweeper.Pending() || q.seq > q.durable {
		return false
	}
	for _, p := range q.byN {
		for _, l := range p.lanes {
			if l.first() != nil && q.mayStart(p, l) == "" {
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

// A bell wakes everybody who waits for it.
type bell struct {
	mu sync.Mutex
	c  chan struct{}
}

func newBell() *bell { return &bell{c: make(chan struct{})} }

// heard is closed at the next ring.
func (b *bell) heard() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.c
}

func (b *bell) ring() {
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
