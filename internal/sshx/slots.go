package sshx

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// maxSessions is how many sessions one connection opens at a time: what
// OpenSSH allows when its MaxSessions is left alone (sshd_config(5)).
const maxSessions = 10

// A server that allows fewer refuses one more; who was refused tries again
// when a session of ours ends, and now and then, as servers count sessions
// that ended a moment ago.
const (
	refusedWait    = 20 * time.Millisecond
	refusedWaitMax = time.Second
	idleRefusals   = 7 // in a row with no session granted, about 2.5 s: it allows none
)

// slots are the sessions of one connection.
type slots struct {
	mu      sync.Mutex
	taken   int
	open    int           // granted and not ended
	granted int           // ever
	freed   chan struct{} // closed, and made anew, when a slot comes free
}

func newSlots() *slots { return &slots{freed: make(chan struct{})} }

// take waits for one of the slots.
func (s *slots) take(ctx context.Context, gone <-chan struct{}) error {
	for {
		s.mu.Lock()
		if s.taken < maxSessions {
			s.taken++
			s.mu.Unlock()
			return nil
		}
		freed := s.freed
		s.mu.Unlock()
		select {
		case <-freed:
		case <-gone:
			return errGone
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// opened marks a taken slot as one that the server granted.
func (s *slots) opened() {
	s.mu.Lock()
	s.open++
	s.granted++
	s.mu.Unlock()
}

// give returns a slot, which had been opened or not.
func (s *slots) give(opened bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if opened {
		s.open--
	}
	close(s.freed)
	s.freed = make(chan struct{})
}

func (s *slots) state() (open, granted int, freed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open, s.granted, s.freed
}

// idleness counts refusals in a row for which no session of ours is to blame.
// A look at what is open now does not tell: on a busy machine, a short session
// takes the place while the server is asked and has ended when we look.
type idleness struct{ refusals, granted int }

// refused reports whether the server allows no session at all, given what is
// open now and how many it has granted so far.
func (i *idleness) refused(open, granted int) (none bool) {
	if open > 0 || granted != i.granted {
		*i = idleness{granted: granted}
		return false
	}
	i.refusals++
	return i.refusals >= idleRefusals
}

// errGone says that the connection had died before anything was asked of it.
var errGone = errors.New("the connection is gone")

// session opens one, waiting for its turn. The slot is given back by end.
func (c *conn) session(ctx context.Context) (s *ssh.Session, end func(), err error) {
	if err := c.slots.take(ctx, c.wire.gone); err != nil {
		return nil, nil, err
	}
	s, err = c.granted(ctx)
	if err != nil {
		c.slots.give(false)
		return nil, nil, err
	}
	c.slots.opened()
	return s, sync.OnceFunc(func() { c.slots.give(true) }), nil
}

// granted asks for a session until the server has room for one.
func (c *conn) granted(ctx context.Context) (*ssh.Session, error) {
	wait, idle := refusedWait, idleness{}
	for {
		_, _, freed := c.slots.state()
		s, err := c.newSession(ctx)
		var refused *ssh.OpenChannelError
		if err == nil || !errors.As(err, &refused) {
			return s, err
		}
		if open, granted, _ := c.slots.state(); idle.refused(open, granted) {
			return nil, &Error{Class: Config, Summary: c.host + " opens no session", cause: err,
				Detail: fmt.Sprintf("its ssh server says %q", refused.Message), Hint: "MaxSessions in its sshd_config must be 1 or more, and the account may need a login shell"}
		}
		t := time.NewTimer(wait)
		select {
		case <-freed:
		case <-t.C:
		case <-c.wire.gone:
			t.Stop()
			return nil, errGone
		case <-ctx.Done():
			t.Stop()
			return nil, ctx.Err()
		}
		t.Stop()
		wait = min(wait*2, refusedWaitMax)
	}
}

// newSession is ssh's, which waits for the server's answer without an end; a
// caller that gives up leaves it behind, to be closed when it comes.
func (c *conn) newSession(ctx context.Context) (*ssh.Session, error) {
	type answer struct {
		s   *ssh.Session
		err error
	}
	came := make(chan answer, 1)
	c.work.Go(func() {
		s, err := c.client.NewSession()
		came <- answer{s, err}
	})
	select {
	case a := <-came:
		if a.err != nil && !c.alive() {
			return nil, errGone
		}
		return a.s, a.err
	case <-ctx.Done():
		c.work.Go(func() {
			if a := <-came; a.s != nil {
				a.s.Close()
			}
		})
		return nil, ctx.Err()
	}
}
