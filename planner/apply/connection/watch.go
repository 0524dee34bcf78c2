package connection

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

const (
	ackInterval = 4096 // events after which a watch gets the durable cursor
	ackTimeout  = 50 * time.Millisecond
)

var errAck = errors.New("acknowledge") // ends a watch so that the next one acknowledges

// A Watcher takes in the reports of a watch, outside the loop.
type Watcher interface {
	Fold(providers.Batch)
	Settled(cursor string) string // waits until a cursor is durable
	Broke(error)
}

// Follow watches a place until ctx ends. A watch that breaks is taken up
// again from the last cursor; nothing is concluded from the silence.
func (c *Backend) Follow(ctx context.Context, clk clock.Clock, w Watcher) {
	tries := 0
	cursor, ack := "", "" // seen, and durable
	for ctx.Err() == nil {
		n := 0
		err := c.Provider.Watch(ctx, providers.WatchRequest{Backend: c.Name, Cursor: cursor, Ack: ack}, func(batch providers.Batch) error {
			tries = 0
			n += len(batch.Events)
			cursor = batch.Cursor
			w.Fold(batch)
			if n >= ackInterval {
				return errAck
			}
			return ctx.Err()
		})
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errAck) || n >= ackInterval {
			cursor = w.Settled(cursor)
			ack = cursor
			continue
		}
		if err != nil {
			w.Broke(err)
		}
		tries++
		if !sleep(ctx, clk, Pause(tries, err)) {
			return
		}
	}
}

func sleep(ctx context.Context, clk clock.Clock, d time.Duration) bool {
	t, stop := clk.Timer(d)
	defer stop()
	clk.Park(func() bool { return len(t) > 0 || clock.Closed(ctx.Done()) })
	select {
	case <-t:
		return true
	case <-ctx.Done():
		return false
	}
}

// Acknowledge sends a place the durable cursor. The first event that arrives, or the time-out,
// ends it: then the place has seen the cursor.
func (c *Backend) Acknowledge(ctx context.Context, cursor string) {
	ctx, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()
	_ = c.Provider.Watch(ctx, providers.WatchRequest{Backend: c.Name, Cursor: cursor, Ack: cursor}, func(providers.Batch) error { return errAck })
}

// LastOf is, for each job in a batch of events, the last event and the ends of
// its launches.
func LastOf(events []offer.Observation) []*offer.Observation {
	if len(events) == 1 { // most batches
		return []*offer.Observation{&events[0]}
	}
	last := make(map[string]int, len(events))
	for i := range events {
		last[Stem(events[i].Token)] = i
	}
	out := make([]*offer.Observation, 0, len(events))
	for i := range events {
		o := &events[i]
		if last[Stem(o.Token)] == i || ends(o.Status) {
			out = append(out, o)
		}
	}
	return out
}

func ends(s offer.Status) bool {
	switch s {
	case offer.Waiting, offer.Completed, offer.Failed, offer.Cancelled, offer.Lost:
		return true
	}
	return false
}

// Stem is TOKEN of TOKEN/N.
func Stem(token string) string {
	token, _, _ = strings.Cut(token, "/")
	return token
}
