package sim

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// maxBatch is how many events one batch of a watch holds at most.
const maxBatch = 4096

// A feed is the events from the first one that is not acknowledged.
type feed struct {
	from   int // number of the first that is kept
	events []offer.Observation
	bell   chan struct{} // closed when something is new
}

func (f *feed) add(o offer.Observation) {
	f.events = append(f.events, o)
	f.ring()
}

func (f *feed) ring() {
	select {
	case <-f.bell:
	default:
		close(f.bell)
	}
}

// after are the events from a cursor on, and the cursor behind them.
func (f *feed) after(cursor string) ([]offer.Observation, string) {
	at, _ := strconv.Atoi(cursor)
	at = min(max(at, f.from), f.from+len(f.events))
	out := f.events[at-f.from:]
	out = append([]offer.Observation(nil), out[:min(len(out), maxBatch)]...)
	return out, strconv.Itoa(at + len(out))
}

// forget drops acknowledged events. Of a job whose end is among them only its status is kept.
func (w *world) forget(cursor string) {
	f := &w.feed
	at, err := strconv.Atoi(cursor)
	if err != nil || at <= f.from {
		return
	}
	n := min(at-f.from, len(f.events))
	for _, o := range f.events[:n] {
		if j := w.jobs[o.Token]; j.decided && o.Status == j.status {
			j.seen = nil
		}
	}
	f.events, f.from = slices.Delete(f.events, 0, n), f.from+n
}

// Watch tells what happens, until ctx ends or the site is away.
func (s *Sim) Watch(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
	cursor := r.Cursor
	if r.Ack != "" {
		w, done, err := s.ask(r.Backend)
		if err != nil {
			return err
		}
		w.forget(r.Ack)
		done()
		// At once, though there may be no news: whoever acknowledges waits for it.
		if err := fn(providers.Batch{Cursor: cmp.Or(cursor, r.Ack)}); err != nil {
			return err
		}
	}
	for {
		w, done, err := s.ask(r.Backend)
		if err != nil {
			return err
		}
		events, to := w.feed.after(cursor)
		bell, next := w.feed.bell, w.next()
		if over(bell) {
			w.feed.bell = make(chan struct{})
			bell = w.feed.bell
		}
		done()
		if len(events) > 0 || cursor == "" {
			cursor = to
			if len(r.Handles) > 0 {
				events = slices.DeleteFunc(events, func(o offer.Observation) bool { return !slices.Contains(r.Handles, o.Handle) })
			}
			if err := fn(providers.Batch{Cursor: to, Events: events}); err != nil {
				return err
			}
			continue
		}
		if err := s.wait(ctx, bell, next); err != nil {
			return err
		}
	}
}

func over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
