package ssh

import (
	"context"
	"math/rand/v2"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/muster-run/muster/providers"
)

// Between two tries to follow a host that cannot be reached.
const (
	firstPause = 500 * time.Millisecond
	longPause  = 30 * time.Second
	loginPause = 3 * time.Second // at most, where a person may log in at any moment: it asks this machine alone
)

// Watch streams the events of the queues. Each of several hosts has its own part of the
// cursor, and an unreachable one does not stop the others.
func (s *SSH) Watch(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
	b, err := s.backend(r.Backend)
	if err != nil {
		return err
	}
	if !b.several() {
		h := b.hosts[0]
		err := h.do(ctx, b, func(s *session) error {
			return s.Watch(ctx, r, func(batch providers.Batch) error { return fn(withNews(h, batch)) })
		})
		if ctx.Err() != nil && cannotAsk(err) {
			return ctx.Err() // a watch that is ended while it still opens has not met a host that is away
		}
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	w := &watcher{backend: b, request: r, fn: fn, stop: stop, cursors: readCursor(r.Cursor), acks: readCursor(r.Ack), up: len(b.hosts)}
	var wg sync.WaitGroup
	for _, h := range b.hosts {
		if len(r.Handles) > 0 && len(b.own(h, r.Handles)) == 0 {
			w.up--
			continue
		}
		wg.Go(func() { w.follow(ctx, h) })
	}
	wg.Wait()
	return context.Cause(ctx)
}

// withNews adds the messages about a host.
func withNews(h *host, b providers.Batch) providers.Batch {
	for _, text := range h.told() {
		b.Notes = append(b.Notes, providers.Note{Kind: "info", Text: text})
	}
	return b
}

// A watcher follows several hosts and passes their batches on one at a time.
type watcher struct {
	backend *backend
	request providers.WatchRequest
	fn      func(providers.Batch) error
	stop    context.CancelCauseFunc

	mu      sync.Mutex
	cursors map[string]string // by host
	acks    map[string]string
	up      int // hosts that answer, as far as is known
}

// follow watches one host until ctx ends.
func (w *watcher) follow(ctx context.Context, h *host) {
	pause := firstPause
	var told []string // why it cannot be asked, since it last answered
	for ctx.Err() == nil {
		r := w.request
		w.mu.Lock()
		r.Cursor, r.Ack = w.cursors[h.name], w.acks[h.name]
		w.mu.Unlock()
		r.Handles = w.backend.own(h, r.Handles)
		err := h.do(ctx, w.backend, func(s *session) error {
			if told != nil {
				told = nil
				w.reachable(h)
			}
			pause = firstPause
			return s.Watch(ctx, r, func(b providers.Batch) error { return w.tell(h, b) })
		})
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			err = providers.Errorf(providers.Unreachable, "%s stopped telling", h.name)
		case !cannotAsk(err):
			w.stop(err)
			return
		}
		if reason := providers.Reason(err); !slices.Contains(told, reason) {
			w.unreachable(h, err, told == nil)
			told = append(told, reason)
		}
		select {
		case <-time.After(pause/2 + rand.N(pause/2)):
		case <-ctx.Done():
		}
		if pause = min(2*pause, longPause); providers.WantsLogin(err) != "" {
			pause = min(pause, loginPause)
		}
	}
}

// tell passes on a batch of one host, with the cursor of all hosts at its end.
func (w *watcher) tell(h *host, b providers.Batch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range b.Events {
		w.backend.see(h, &b.Events[i])
		w.backend.remember(h, b.Events[i].Token)
	}
	for i := range b.Notes {
		b.Notes[i].Text = h.name + ": " + b.Notes[i].Text
	}
	if b.Cursor != "" {
		w.cursors[h.name] = b.Cursor
	}
	return w.pass(withNews(h, b))
}

// pass calls fn with the cursor of all; the lock is held.
func (w *watcher) pass(b providers.Batch) error {
	b.Cursor = writeCursor(w.cursors)
	if err := w.fn(b); err != nil {
		w.stop(err)
		return err
	}
	return nil
}

// unreachable reports why a host cannot be asked: when it is lost, and when the reason
// changes.
func (w *watcher) unreachable(h *host, err error, lost bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if lost {
		w.up--
	}
	if w.up == 0 {
		w.stop(err) // no host is left to follow
		return
	}
	_ = w.pass(providers.Batch{Notes: []providers.Note{{Kind: "unreachable", Text: h.name + " cannot be reached, and its jobs are unknown: " + providers.WithHint(err)}}})
}

func (w *watcher) reachable(h *host) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.up++
	_ = w.pass(providers.Batch{Notes: []providers.Note{{Kind: "reachable", Text: h.name + " answers again"}}})
}

// readCursor splits a cursor into those of hosts; a malformed one counts as none.
func readCursor(s string) map[string]string {
	out := map[string]string{}
	values, err := url.ParseQuery(s)
	if err != nil {
		return out
	}
	for host := range values {
		out[host] = values.Get(host)
	}
	return out
}

func writeCursor(cursors map[string]string) string {
	values := url.Values{}
	for host, cursor := range cursors {
		values.Set(host, cursor)
	}
	return values.Encode()
}
