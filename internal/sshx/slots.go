package sshx

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// maxSessions is how many sessions one connection opens at a time: the default of OpenSSH's
// MaxSessions (sshd_config(5)).
const maxSessions = 10

// A server that allows fewer refuses one more. A refused session tries again when one of ours
// ends, and now and then, as servers count sessions that ended a moment ago.
const (
	refusedWait    = 20 * time.Millisecond
	refusedWaitMax = time.Second
	idleRefusals   = 7 // in a row, more than a second, with no session of ours to explain them
)

// slots are the sessions of one connection.
type slots struct {
	mu      sync.Mutex
	taken   int
	asking  int           // for a session, and not answered
	open    int           // granted, and neither ended nor left by us
	left    int           // by us, and not ended: OpenSSH keeps their places while their commands run
	granted int           // ever
	over    bool          // the connection is closing: no more sessions
	freed   chan struct{} // closed and replaced when a slot becomes free or a session is given up
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
		s.over = s.over || s.left >= maxSessions
		freed, over := s.freed, s.over
		s.mu.Unlock()
		if over {
			return errStuffed
		}
		select {
		case <-freed:
		case <-gone:
			return errGone
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ask counts a question for a session, unless the connection is given up.
func (s *slots) ask() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.asking++
	}
	return !s.over
}

// answered counts the answer.
func (s *slots) answered(granted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking--
	if granted {
		s.open++
		s.granted++
	}
}

// answeredLate takes back a session whose caller has stopped waiting.
func (s *slots) answeredLate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	s.tell()
}

// leave counts a session that we no longer use.
func (s *slots) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	s.left++
	s.tell()
}

// ended returns the slot of a session that was left.
func (s *slots) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left--
	s.taken--
	s.tell()
}

// give returns a slot without a session.
func (s *slots) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	s.tell()
}

func (s *slots) tell() {
	close(s.freed)
	s.freed = make(chan struct{})
}

func (s *slots) state() (busy, granted int, freed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open + s.asking, s.granted, s.freed
}

// exhausted closes the connection if no session is open or asked for.
func (s *slots) exhausted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = s.over || s.open+s.asking == 0
	return s.over
}

// idleness counts refusals in a row that no session of ours explains. Counting open sessions
// does not show that: on a busy machine, a short session takes the slot while the server is
// asked, and has ended when we look.
type idleness struct{ refusals, granted int }

// refused reports whether the server refuses without a reason on our side, given how many
// sessions we have or ask for now and how many it has granted so far.
func (i *idleness) refused(busy, granted int) (idle bool) {
	if busy > 0 || granted != i.granted {
		*i = idleness{granted: granted}
		return false
	}
	i.refusals++
	return i.refusals >= idleRefusals
}

// errGone says that the connection had died before anything was asked of it.
var errGone = errors.New("the connection is gone")

// errStuffed is why a connection is given up: the next begins with no session.
var errStuffed = errors.New("its ssh server allows no more sessions: abandoned commands still run there")

// session opens one, waiting for its turn. leave says that it is no longer used, and end that
// it has ended.
func (c *conn) session(ctx context.Context) (s *ssh.Session, leave, end func(), err error) {
	if err = c.slots.take(ctx, c.wire.gone); err == nil {
		if s, err = c.granted(ctx); err != nil {
			c.slots.give()
		}
	}
	if errors.Is(err, errStuffed) {
		c.end(err)
		err = errGone
	}
	if err != nil {
		return nil, nil, nil, err
	}
	leave = sync.OnceFunc(c.slots.leave)
	return s, leave, sync.OnceFunc(func() { leave(); c.slots.ended() }), nil
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
		if busy, granted, _ := c.slots.state(); idle.refused(busy, granted) {
			if granted == 0 {
				return nil, &Error{Class: Config, Summary: c.host + " opens no session", cause: err,
					Detail: fmt.Sprintf("its ssh server says %q", refused.Message), Hint: "MaxSessions in its sshd_config must be 1 or more, and the account may need a login shell"}
			}
			if c.slots.exhausted() {
				return nil, errStuffed
			}
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
	if !c.slots.ask() {
		return nil, errStuffed
	}
	type answer struct {
		s   *ssh.Session
		err error
	}
	came := make(chan answer, 1)
	c.work.Go(func() {
		s, err := c.client.NewSession()
		c.slots.answered(err == nil)
		came <- answer{s, err}
	})
	select {
	case a := <-came:
		if a.err != nil && c.died(a.err) {
			return nil, errGone
		}
		return a.s, a.err
	case <-ctx.Done():
		c.work.Go(func() {
			if a := <-came; a.s != nil {
				a.s.Close()
				c.slots.answeredLate()
			}
		})
		return nil, ctx.Err()
	}
}
