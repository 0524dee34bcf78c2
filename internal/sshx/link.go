package sshx

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A connection carries commands: one of this process, or one that ssh(1) shares.
type connection interface {
	open(ctx context.Context, command string) (Stream, error)
	alive() bool
	lived() time.Duration
	end(why error)
	wait() // for commands over it, after its end
	lost() *Error
}

// A link holds the one connection. Callers get the living one or wait for the dial that is
// under way; after a failed dial the next one waits, and its callers wait with it.
type link struct {
	dial    func(context.Context, Asker) (connection, error)
	backoff *backoff
	ctx     context.Context // ends with close
	cancel  context.CancelFunc
	work    sync.WaitGroup

	mu       sync.Mutex
	conn     connection
	dialing  *attempt
	failures int       // in a row
	rest     time.Time // no dial before
	last     error     // why the last dial failed
	keyed    bool      // the last connection of this process needed keys alone
	asker    Asker     // who types passwords now; nil = no person
	login    *control  // set when the server needs more than keys: nothing is dialled until it is open, or a person types
}

// An attempt is one dial; done closes when conn or err is set.
type attempt struct {
	done chan struct{}
	conn connection
	err  error
}

func newLink(dial func(context.Context, Asker) (connection, error), b *backoff) *link {
	if b == nil {
		b = newBackoff()
	}
	l := &link{dial: dial, backoff: b}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

var errClosed = errors.New("the client is closed")

// get returns a living connection, dialling if there is none.
func (l *link) get(ctx context.Context) (connection, error) {
	l.mu.Lock()
	if l.ctx.Err() != nil {
		l.mu.Unlock()
		return nil, errClosed
	}
	if l.conn != nil && l.conn.alive() {
		defer l.mu.Unlock()
		return l.conn, nil
	}
	l.drop()
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

// drop removes a dead connection. One that lived only briefly counts as a failed dial: muster
// waits longer each time for a server that accepts connections and drops them.
func (l *link) drop() {
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
	if l.last == nil || isUnreachable(l.last) {
		return nil
	}
	if l.asker == nil && l.login != nil {
		if l.login.open() {
			return nil
		}
		return l.last
	}
	if !time.Now().Before(l.rest) {
		return nil
	}
	return l.last
}

// gaveUp gives callers that stopped waiting the reason why there was no connection.
func (l *link) gaveUp(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return l.last
	}
	return ctx.Err()
}

// try rests, dials once, and wakes all that wait.
func (l *link) try() {
	l.mu.Lock()
	a, rest, asker := l.dialing, time.Until(l.rest), l.asker
	l.mu.Unlock()

	if err := sleep(l.ctx, rest); err != nil {
		a.err = errClosed
	} else if a.conn, a.err = l.dial(l.ctx, asker); l.ctx.Err() != nil {
		a.err = errClosed
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	l.dialing = nil
	switch {
	case a.err == nil:
		l.conn, l.rest, l.last, l.login = a.conn, time.Time{}, nil, nil
		if c, ok := a.conn.(*conn); ok {
			l.keyed = !c.typed
		}
	default:
		if a.conn != nil {
			a.conn.end(errClosed)
			a.conn = nil
		}
		l.failures++
		l.rest = time.Now().Add(l.backoff.after(l.failures))
		l.last = a.err
		if e := (*Error)(nil); errors.As(a.err, &e) && e.control != nil && !l.keyed {
			l.login, l.rest = e.control, time.Time{}
		}
	}
	close(a.done)
}

// with lets a person type the server's answers, until done is called.
func (l *link) with(a Asker) (done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asker = a
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.asker = nil
	}
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
		conn.wait()
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
