package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// Options say which queue a client speaks to and how it is started.
type Options struct {
	Spool string // "" = Spool()
	// Command starts a queue; the client adds its flags. Nil: this binary
	// with `provider queue`.
	Command []string
	// Env is added to the few variables a queue starts with.
	Env []string
	// Idle is how long a queue that is started waits with nothing to do; 0 = its default.
	Idle time.Duration
	// Revision is what the client takes itself for; 0 = Revision. A running
	// queue of a smaller one is taken over.
	Revision int
}

// A Client speaks to the queue of a spool. It starts the queue when there is
// none, and again when it has gone; every question may be repeated. It may be
// used concurrently. The zero value speaks to this user's queue.
type Client struct {
	Options

	mu   sync.Mutex
	link *link
}

// NewClient makes a client; nothing is started before the first question.
func NewClient(o Options) *Client { return &Client{Options: o} }

// Close drops the connection; the queue goes on.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link != nil {
		c.link.conn.Close()
		c.link = nil
	}
	return nil
}

// patience is how long a question is repeated while the queue cannot be reached.
const patience = 15 * time.Second

// retryPause is the pause between two tries to reach the queue.
const retryPause = 50 * time.Millisecond

// Call asks one question and reads the answer into out.
func (c *Client) Call(ctx context.Context, op string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("ask queue %s: %w", op, err)
	}
	deadline := time.Now().Add(patience)
	for {
		err := c.ask(ctx, op, body, out)
		var said *providers.Error
		switch {
		case err == nil:
			return nil
		case errors.As(err, &said) && said.Class != providers.Unreachable:
			return said
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(deadline):
			return &providers.Error{Class: providers.Unreachable, Summary: "The queue of this machine cannot be reached", Detail: err.Error(),
				Hint: "its own messages are in " + c.logFile()}
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *Client) ask(ctx context.Context, op string, body json.RawMessage, out any) error {
	l, err := c.connect(ctx)
	if err != nil {
		return err
	}
	m, err := l.ask(ctx, op, body)
	if err != nil {
		return err
	}
	if m.Error != nil {
		return m.Error
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(m.Body, out)
}

// connect finds the link, or makes one, starting the queue if need be.
func (c *Client) connect(ctx context.Context) (*link, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link != nil && !c.link.broken() {
		return c.link, nil
	}
	c.link = nil
	spool, err := c.spool()
	if err != nil {
		return nil, err
	}
	conn, err := dial(spool)
	if err != nil {
		if err := c.start(ctx, spool); err != nil {
			return nil, err
		}
		if conn, err = dial(spool); err != nil {
			return nil, err
		}
	}
	l := newLink(conn)
	if err := c.greet(ctx, l); err != nil {
		conn.Close()
		return nil, err
	}
	c.link = l
	return l, nil
}

func (c *Client) spool() (string, error) {
	if c.Spool != "" {
		return c.Spool, nil
	}
	return Spool()
}

func dial(spool string) (net.Conn, error) {
	path, err := socketPath(spool)
	if err != nil {
		return nil, err
	}
	return net.Dial("unix", path)
}

// errYielded says that an older queue makes way.
var errYielded = errors.New("an older queue makes way for this one")

// greet agrees on the protocol. A queue older than this client is asked to
// make way: its jobs run on, and the next queue picks them up.
func (c *Client) greet(ctx context.Context, l *link) error {
	mine := c.Revision
	if mine == 0 {
		mine = Revision
	}
	body, _ := json.Marshal(hello{Min: protocolMin, Max: Protocol, Revision: mine})
	m, err := l.ask(ctx, "hello", body)
	if err != nil {
		return err
	}
	var h hello
	if m.Error != nil || json.Unmarshal(m.Body, &h) != nil {
		return errors.New("the queue does not answer in a known way")
	}
	switch {
	case h.Min > Protocol:
		return &providers.Error{Class: providers.Conflict, Summary: "A queue of a newer muster runs on this machine",
			Detail: fmt.Sprintf("it speaks protocol %d and later, this muster %d", h.Min, Protocol), Hint: "use the newer muster"}
	case h.Max < protocolMin || h.Revision < mine:
		l.ask(ctx, "yield", json.RawMessage("{}"))
		return errYielded
	}
	return nil
}

// A link is one connection with its open questions.
type link struct {
	conn net.Conn
	f    *frames
	mu   sync.Mutex
	next uint64
	open map[uint64]chan message
	err  error
}

func newLink(conn net.Conn) *link {
	l := &link{conn: conn, f: newFrames(conn), open: map[uint64]chan message{}}
	go l.listen()
	return l
}

func (l *link) broken() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err != nil
}

// listen hands out answers until the connection ends.
func (l *link) listen() {
	for {
		m, err := l.f.read()
		l.mu.Lock()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the queue has ended")
			}
			l.err = err
			for _, c := range l.open {
				close(c)
			}
			l.open = nil
			l.mu.Unlock()
			l.conn.Close()
			return
		}
		if c := l.open[m.ID]; c != nil {
			delete(l.open, m.ID)
			c <- m
		}
		l.mu.Unlock()
	}
}

// ask sends a question and waits for its answer.
func (l *link) ask(ctx context.Context, op string, body json.RawMessage) (message, error) {
	c := make(chan message, 1)
	l.mu.Lock()
	if l.err != nil {
		defer l.mu.Unlock()
		return message{}, l.err
	}
	l.next++
	id := l.next
	l.open[id] = c
	l.mu.Unlock()
	if err := l.f.write(message{ID: id, Op: op, Body: body}); err != nil {
		return message{}, err
	}
	select {
	case m, ok := <-c:
		if !ok {
			return message{}, l.err
		}
		return m, nil
	case <-ctx.Done():
		l.mu.Lock()
		delete(l.open, id)
		l.mu.Unlock()
		l.f.write(message{ID: id, Op: "cancel"})
		return message{}, ctx.Err()
	}
}

// Submit takes jobs in. When it returns without an error they are on the disk.
func (c *Client) Submit(ctx context.Context, p Place, environ []providers.EnvVar, r providers.SubmitRequest) ([]providers.Submitted, error) {
	s := submission{Place: p, Fence: r.Fence, Environ: environ}
	var out []providers.Submitted
	const batch = 1 << 20 // bytes of specifications in one question
	for size, i := 0, 0; i < len(r.Jobs); i++ {
		spec, err := json.Marshal(&r.Jobs[i])
		if err != nil {
			return nil, fmt.Errorf("submit %s: %w", r.Jobs[i].Address, err)
		}
		s.Jobs = append(s.Jobs, spec)
		if secrets := r.Jobs[i].Secrets; len(secrets) > 0 {
			if s.Secrets == nil {
				s.Secrets = map[string][]providers.EnvVar{}
			}
			s.Secrets[r.Jobs[i].Token] = secrets
		}
		if size += len(spec); size < batch && i+1 < len(r.Jobs) {
			continue
		}
		var part []providers.Submitted
		if err := c.Call(ctx, "submit", s, &part); err != nil {
			return out, err
		}
		out = append(out, part...)
		s.Jobs, s.Secrets, size = nil, nil, 0
	}
	return out, nil
}

// Find says for each token whether the queue knows it.
func (c *Client) Find(ctx context.Context, p Place, tokens []string) (out []offer.Observation, err error) {
	return out, c.Call(ctx, "find", findBody{Place: p, Tokens: tokens}, &out)
}

// Watch calls fn with what happens from a cursor on, until ctx ends or fn
// returns an error. Without handles, what lies before a cursor is acknowledged.
func (c *Client) Watch(ctx context.Context, p Place, r providers.WatchRequest, fn func(providers.Batch) error) error {
	cursor := r.Cursor
	for {
		var b providers.Batch
		if err := c.Call(ctx, "watch", watchBody{Place: p, Handles: r.Handles, Cursor: cursor, Ack: &r.Ack, Wait: pollWait}, &b); err != nil {
			return err
		}
		if len(b.Events) == 0 && len(b.Notes) == 0 {
			if b.Cursor != "" {
				cursor = b.Cursor
			}
			continue
		}
		if err := fn(b); err != nil {
			return err
		}
		cursor = b.Cursor
	}
}

// Cancel ends jobs; the events of those that run follow when they have ended.
func (c *Client) Cancel(ctx context.Context, p Place, r providers.CancelRequest) (out []providers.Outcome, err error) {
	return out, c.Call(ctx, "cancel_jobs", cancelBody{Place: p, Request: r}, &out)
}

// Control changes what may start by itself.
func (c *Client) Control(ctx context.Context, p Place, r providers.ControlRequest) error {
	return c.Call(ctx, "control", controlBody{Place: p, Request: r}, nil)
}

// Remove moves files aside or deletes them, under a fence.
func (c *Client) Remove(ctx context.Context, p Place, r providers.RemoveRequest) error {
	return c.Call(ctx, "remove", removeBody{Place: p, Request: r}, nil)
}

// Clean forgets ended jobs that have been acknowledged.
func (c *Client) Clean(ctx context.Context) (removed []string, err error) {
	return removed, c.Call(ctx, "clean", nothing{}, &removed)
}

// Busy is what the running queue's jobs hold. It starts none: without a
// queue nothing is held.
func (c *Client) Busy(ctx context.Context) (Busy, error) {
	spool, err := c.spool()
	if err != nil {
		return Busy{}, err
	}
	conn, err := dial(spool)
	if err != nil {
		return Busy{}, nil
	}
	l := newLink(conn)
	defer conn.Close()
	m, err := l.ask(ctx, "status", json.RawMessage("{}"))
	if err != nil || m.Error != nil {
		return Busy{}, err
	}
	var s status
	if err := json.Unmarshal(m.Body, &s); err != nil {
		return Busy{}, err
	}
	return Busy{CPUs: s.CPUs, GPUs: s.GPUs, Jobs: s.Running}, nil
}

// Running reports whether a queue listens now. It starts none.
func (c *Client) Running() (bool, error) {
	spool, err := c.spool()
	if err != nil {
		return false, err
	}
	conn, err := dial(spool)
	if err != nil {
		return false, nil
	}
	return true, conn.Close()
}
