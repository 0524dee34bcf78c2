package sshx

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// A conn is one living ssh connection with its resources.
type conn struct {
	host   string
	client *ssh.Client
	wire   *wire
	below  []io.Closer // jump hosts and proxies, ended after the connection
	slots  *slots
	since  time.Time
	typed  bool // a person typed to be let in
	work   workers
}

// workers are the goroutines of a connection. One that begins after wait ends soon: the
// connection is dead by then.
type workers struct {
	mu   sync.Mutex
	over bool
	sync.WaitGroup
}

func (c *workers) Go(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		go f()
		return
	}
	c.WaitGroup.Go(f)
}

func (c *workers) Wait() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.WaitGroup.Wait()
}

// newConn takes over an authenticated connection and looks after it.
func newConn(host string, client *ssh.Client, w *wire, below []io.Closer, k keepAlive) *conn {
	c := &conn{host: host, client: client, wire: w, below: below, slots: newSlots(), since: time.Now()}
	c.work.Go(func() {
		c.wire.end(c.client.Wait())
		c.end(nil)
	})
	c.work.Go(func() { c.keep(k) })
	return c
}

func (c *conn) alive() bool {
	return c.wire.reason() == nil
}

// died reports whether the connection ended, where a channel gave err. A connection that ends
// with a message of its server (disconnect, RFC 4253 11.1) closes its channels first: a channel
// that closed without an answer waits up to a second for that end.
func (c *conn) died(err error) bool {
	if _, mute := errors.AsType[*ssh.ExitMissingError](err); mute || errors.Is(err, io.EOF) {
		select {
		case <-c.wire.gone:
		case <-time.After(time.Second):
		}
	}
	return !c.alive()
}

func (c *conn) wait() { c.work.Wait() }

func (c *conn) lived() time.Duration { return time.Since(c.since) }

// end ends the connection for a reason, which the first to call it gives.
func (c *conn) end(why error) {
	if why != nil {
		c.wire.end(why)
	}
	c.client.Close()
	c.wire.Close()
	for _, b := range c.below {
		b.Close()
	}
}

// lost is the callers' error about a dead link.
func (c *conn) lost() *Error {
	detail, cause := "", c.wire.reason()
	if cause != nil && cause != io.EOF {
		detail = cause.Error()
	}
	return &Error{Class: Unreachable, Summary: fmt.Sprintf("connection to %s was lost", c.host), Detail: detail, cause: cause, broke: true}
}

// keepAlive is when a silent connection is asked for a sign of life, and how
// many questions without an answer end it.
type keepAlive struct {
	every time.Duration
	count int
}

// keep watches for silence. Whatever arrives is a sign of life, as it is for
// ssh(1), so that a reply held up behind a large transfer ends nothing.
func (c *conn) keep(k keepAlive) {
	asked, v := make(chan struct{}, 1), silence{}
	for {
		tick := time.NewTimer(k.every) // each wait is complete, also after one that took longer
		select {
		case <-c.wire.gone:
			tick.Stop()
			return
		case <-tick.C:
		}
		switch silent := c.wire.silence(); {
		case v.over(c.wire.heard.Load(), k.count):
			c.end(fmt.Errorf("nothing was heard for %s", silent.Round(time.Second)))
			return
		case silent >= k.every/2:
			v.asked++
			c.ask(asked)
		}
	}
}

// A silence counts looks at a silent connection by the questions that had time to
// be answered, and not by the clock: while this process was stopped, or had no
// turn, nothing could be heard.
type silence struct {
	heard int64 // when, at the last look
	asked int   // questions since
}

// over reports whether all questions that are allowed had no answer.
func (v *silence) over(heard int64, count int) bool {
	if heard != v.heard {
		*v = silence{heard: heard}
	}
	return v.asked >= count
}

// ask sends one question unless one is still open. Any answer will do: it is
// seen by the wire.
func (c *conn) ask(asked chan struct{}) {
	select {
	case asked <- struct{}{}:
	default:
		return
	}
	c.work.Go(func() {
		defer func() { <-asked }()
		c.client.SendRequest("keepalive@openssh.com", true, nil)
	})
}
