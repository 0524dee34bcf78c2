package sshx

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A link is the place of the one connection: whoever needs it gets the living
// one or waits for the dial that is under way; after a failed dial the next one
// waits, and all who ask wait with it.
type link struct {
	dial    func(context.Context) (*conn, error)
	backoff *backoff
	ctx     context.Context // ends with close
	cancel  context.CancelFunc
	work    sync.WaitGroup

	mu       sync.Mutex
	conn     *conn
	dialing  *attempt
	failures int       // in a row
	rest     time.Time // no dial before
	last     error     // why the last dial failed
}

// An attempt is one dial; done closes when conn or err is set.
type attempt struct {
	done chan struct{}
	conn *conn
	err  error
}

func newLink(dial func(context.Context) (*conn, error), b *backoff) *link {
	if b == nil {
		b = newBackoff()
	}
	l := &link{dial: dial, backoff: b}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

var errClosed = errors.New("the client is closed")

// get returns a living connection, dialling if there is none.
func (l *link) get(ctx context.Context) (*conn, error) {
	l.mu.Lock()
	if l.ctx.Err() != nil {
		l.mu.Unlock()
		return nil, errClosed
	}
	if l.conn != nil && l.conn.alive() {
		defer l.mu.Unlock()
		return l.conn, nil
	}
	l.bury()
	if err := l.refusal(); err != nil {
		defer l.mu.Unlock()
		return nil, err
	}
	if l.dialing == nil {
		l.dialing = &attempt{done: make(chan struct{})}
		l.work.Go(l.try)
	}
	a := l.dialing
	l.mu.Unlock()

	select {
	case <-a.done:
		return a.conn, a.err
	case <-ctx.Done():
		return nil, l.gaveUp(ctx)
	}
}

// bury takes a dead connection away. One that did not live long counts as a
// failed dial: a server that takes everybody in and drops them is left alone
// for longer each time, too.
func (l *link) bury() {
	if l.conn == nil {
		return
	}
	if l.conn.lived() < settled {
		l.failures++
		l.rest = time.Now().Add(l.backoff.after(l.failures))
	} else {
		l.failures = 0
	}
	l.conn = nil
}

// refusal is the last answer as long as asking again would be a nuisance: a
// key that was refused is refused again, and servers lock out who insists.
func (l *link) refusal() error {
	if l.last == nil || isUnreachable(l.last) || !time.Now().Before(l.rest) {
		return nil
	}
	return l.last
}

// gaveUp tells who stopped waiting why there was nothing to get.
func (l *link) gaveUp(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return l.last
	}
	return ctx.Err()
}

// try rests, dials once, and tells all who wait.
func (l *link) try() {
	l.mu.Lock()
	a, rest := l.dialing, time.Until(l.rest)
	l.mu.Unlock()

	if err := sleep(l.ctx, rest); err != nil {
		a.err = errClosed
	} else if a.conn, a.err = l.dial(l.ctx); l.ctx.Err() != nil {
		a.err = errClosed
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	l.dialing = nil
	switch {
	case a.err == nil:
		l.conn, l.rest, l.last = a.conn, time.Time{}, nil
	default:
		if a.conn != nil {
			a.conn.end(errClosed)
			a.conn = nil
		}
		l.failures++
		l.rest = time.Now().Add(l.backoff.after(l.failures))
		l.last = a.err
	}
	close(a.done)
}

func (l *link) close() {
	l.cancel()
	l.work.Wait()
	l.mu.Lock()
	conn := l.conn
	l.conn = nil
	l.mu.Unlock()
	if conn != nil {
		conn.end(errClosed)
		conn.work.Wait()
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
