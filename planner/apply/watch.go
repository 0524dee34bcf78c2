package apply

import (
	"context"
	"errors"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

var errAck = errors.New("acknowledge") // ends a watch so that the next one acknowledges

// watch follows a backend until the run ends. A watch that breaks is taken up
// again from the last cursor; nothing is concluded from the silence.
func (e *engine) watch(b *backend) {
	tries := 0
	cursor, ack := "", "" // seen, and durable
	for e.ctx.Err() == nil {
		n := 0
		err := b.p.Watch(e.ctx, providers.WatchRequest{Backend: b.name, Cursor: cursor, Ack: ack}, func(batch providers.Batch) error {
			tries = 0
			n += len(batch.Events)
			cursor = batch.Cursor
			e.post(func() { e.fold(b, batch) })
			if n >= ackInterval {
				return errAck
			}
			return e.ctx.Err()
		})
		if e.ctx.Err() != nil {
			return
		}
		if errors.Is(err, errAck) || n >= ackInterval {
			cursor = e.settled(b, cursor)
			ack = cursor
			continue
		}
		if err != nil {
			e.post(func() { e.unreachable(b, err) })
		}
		tries++
		if !sleep(e.ctx, backoff(tries)) {
			return
		}
	}
}

// settled waits until what was folded is durable, for the next watch tells
// the backend that it may forget it.
func (e *engine) settled(b *backend, cursor string) string {
	got := make(chan string, 1)
	e.post(func() {
		if b.cursor != "" {
			e.sync()
		}
		got <- b.durable
	})
	select {
	case c := <-got:
		if c != "" {
			return c
		}
		return cursor
	case <-e.ctx.Done():
		return cursor
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func contextWithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

// fold takes a batch of a watch in. Of what one job went through in it, only
// the last step and the ends of its launches are kept.
func (e *engine) fold(b *backend, batch providers.Batch) {
	e.reachable(b)
	if batch.Cursor != "" {
		b.cursor = batch.Cursor
	}
	b.seen += len(batch.Events)
	if len(batch.Events) == 1 {
		e.observe(b, &batch.Events[0])
	} else {
		last := make(map[string]int, len(batch.Events))
		for i := range batch.Events {
			last[stem(batch.Events[i].Token)] = i
		}
		for i := range batch.Events {
			o := &batch.Events[i]
			if last[stem(o.Token)] == i || ends(o.Status) {
				e.observe(b, o)
			}
		}
	}
	for _, n := range batch.Notes {
		e.noted(b, n)
	}
}

func ends(s offer.Status) bool {
	switch s {
	case offer.Waiting, offer.Completed, offer.Failed, offer.Cancelled, offer.Lost:
		return true
	}
	return false
}

// noted takes what a backend says of itself.
func (e *engine) noted(b *backend, n providers.Note) {
	switch n.Kind {
	case "breaker":
		if p := e.byName[n.Phase]; p != nil {
			e.openBreaker(p, "backend."+b.name, n.Text, 0)
		}
	case "unreachable":
		e.unreachable(b, errors.New(n.Text))
	case "reachable":
		e.reachable(b)
	default:
		e.report.note(e, "backend."+b.name, "backend."+b.name+": "+n.Text, n.Kind == "reboot")
	}
}

// acknowledge tells every backend, at the end of a run, what is durable here.
func (e *engine) acknowledge() {
	if e.err != nil {
		return
	}
	for _, b := range e.backends {
		if b.p == nil || b.durable == "" || b.down != "" {
			continue
		}
		ctx, cancel := context.WithTimeout(e.ctx, ackTimeout)
		// The first thing that arrives, or the time-out, ends it: what counts
		// is that the backend has seen the cursor.
		_ = b.p.Watch(ctx, providers.WatchRequest{Backend: b.name, Cursor: b.durable, Ack: b.durable}, func(providers.Batch) error { return errAck })
		cancel()
	}
}

const ackTimeout = 50 * time.Millisecond
