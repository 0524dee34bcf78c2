// Package host is the client of a machine's queue, which it starts if none runs,
// and the main function of the queue's process.
package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/host/spool"
	"github.com/muster-run/muster/providers/host/wire"
	"github.com/muster-run/muster/providers/offer"
)

// A Tenant is one campaign's backend as the queue of a machine sees it.
type Tenant = machine.Tenant

// Options say which queue a client speaks to and how it is started.
type Options struct {
	Spool string // "" = spool.Dir()
	// Command starts a queue; the client adds its flags. Nil: this binary
	// with `provider queue`.
	Command []string
	// Env is added to the few variables a queue starts with.
	Env []string
	// Idle is how long a queue that is started waits with nothing to do; 0 = its default.
	Idle time.Duration
	// Revision is the client's own; 0 = Revision. A running
	// queue of a smaller one is taken over.
	Revision int
	// Patience is how long a question is repeated while the queue cannot be
	// reached; 0 = 15 s.
	Patience time.Duration
	// Silence is how long a queue may say nothing before it counts as hung; 0 = 15 s.
	Silence time.Duration
}

// A Client speaks to the queue of a spool. It starts the queue when there is
// none, and again when it has gone; every question may be repeated. It may be
// used concurrently. The zero value speaks to this user's queue.
type Client struct {
	Options

	mu   sync.Mutex
	link *wire.Conn
	try  *try
}

// A try is one attempt to reach the queue, shared by all who want to.
type try struct {
	done chan struct{}
	link *wire.Conn
	err  error
}

// NewClient makes a client; nothing is started before the first question.
func NewClient(o Options) *Client { return &Client{Options: o} }

// Close drops the connection; the queue continues.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link != nil {
		c.link.Close()
	}
	c.link, c.try = nil, nil
	return nil
}

// defaultPatience is how long a question is repeated while the queue cannot
// be reached.
const defaultPatience = 15 * time.Second

// retryPause is the pause between two tries to reach the queue.
const retryPause = 50 * time.Millisecond

// Call asks one question and reads the answer into out.
func (c *Client) Call(ctx context.Context, op string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("ask queue %s: %w", op, err)
	}
	deadline := time.Now().Add(cmp.Or(c.Patience, defaultPatience))
	for {
		err := c.ask(ctx, op, body, out)
		var said *providers.Error
		var silent wire.Silent
		switch late := time.Now().After(deadline); {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &silent):
			return c.hung(silent)
		case errors.As(err, &said) && (late || said.Class != providers.Unreachable):
			return said
		case late:
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
	return l.Ask(ctx, op, body, out)
}

// connect finds the link, or makes one. However many want it, one tries.
func (c *Client) connect(ctx context.Context) (*wire.Conn, error) {
	c.mu.Lock()
	if c.link != nil && !c.link.Broken() {
		defer c.mu.Unlock()
		return c.link, nil
	}
	t := c.try
	if t == nil {
		t = &try{done: make(chan struct{})}
		c.link, c.try = nil, t
		go c.reach(context.WithoutCancel(ctx), t) // others wait for it, too
	}
	c.mu.Unlock()
	select {
	case <-t.done:
		return t.link, t.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *Client) reach(ctx context.Context, t *try) {
	t.link, t.err = c.open(ctx)
	defer close(t.done)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.try == t:
		c.link, c.try = t.link, nil
	case t.link != nil:
		t.link.Close() // the client has been closed meanwhile
	}
}

// open connects to the queue, starting it if need be, and agrees on the protocol.
func (c *Client) open(ctx context.Context) (*wire.Conn, error) {
	dir, err := c.dir()
	if err != nil {
		return nil, err
	}
	conn, err := dial(dir)
	if err != nil {
		if err := c.start(ctx, dir); err != nil {
			return nil, err
		}
		if conn, err = dial(dir); err != nil {
			return nil, err
		}
	}
	if stopped(dir) {
		conn.Close()
		return nil, wire.Silent{} // no need to wait when it is plain
	}
	l := wire.NewLink(conn, c.Silence)
	if err := c.greet(ctx, l); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (c *Client) dir() (string, error) {
	if c.Spool != "" {
		return c.Spool, nil
	}
	return spool.Dir()
}

// Identity is that of the queue, "" while it has none.
func (c *Client) Identity() string {
	dir, err := c.dir()
	if err != nil {
		return ""
	}
	return spool.Identity(dir)
}

func dial(dir string) (net.Conn, error) {
	path, err := spool.Socket(dir)
	if err != nil {
		return nil, err
	}
	return net.Dial("unix", path)
}

// errYielded says that an older queue makes way.
var errYielded = errors.New("this queue replaces an older one")

// greet agrees on the protocol. A queue older than this client is asked to
// make way: its jobs run on, and the next queue picks them up.
func (c *Client) greet(ctx context.Context, l *wire.Conn) error {
	mine := c.Revision
	if mine == 0 {
		mine = wire.Revision
	}
	body, _ := json.Marshal(wire.Hello{Min: wire.ProtocolMin, Max: wire.Protocol, Revision: mine})
	var h wire.Hello
	var said *providers.Error
	if err := l.Ask(ctx, "hello", body, &h); errors.As(err, &said) {
		return errors.New("this muster does not know the queue's answer")
	} else if err != nil {
		return err
	}
	switch {
	case h.Min > wire.Protocol:
		return &providers.Error{Class: providers.Conflict, Summary: "A queue of a newer muster runs on this machine",
			Detail: fmt.Sprintf("it speaks protocol %d and later, this muster %d", h.Min, wire.Protocol), Hint: "use the newer muster"}
	case h.Max < wire.ProtocolMin || h.Revision < mine:
		l.Ask(ctx, "yield", json.RawMessage("{}"), nil)
		return errYielded
	}
	return nil
}

// Submit submits jobs. When it returns without an error they are on disk.
func (c *Client) Submit(ctx context.Context, p Tenant, environ []providers.EnvVar, r providers.SubmitRequest) ([]providers.Submitted, error) {
	s := wire.Submission{Place: p, Fence: r.Fence, Holder: r.Holder, Environ: environ}
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
		for i := range part {
			part[i].Queue = c.Identity()
		}
		out = append(out, part...)
		s.Jobs, s.Secrets, size = nil, nil, 0
	}
	return out, nil
}

// Find reports for each token whether the queue knows it. For an unknown one it names the
// queue, because each spool has its own.
func (c *Client) Find(ctx context.Context, p Tenant, tokens []string) (out []offer.Observation, err error) {
	if err := c.Call(ctx, "find", wire.Find{Place: p, Tokens: tokens}, &out); err != nil {
		return nil, err
	}
	dir, err := c.dir()
	if err != nil {
		return nil, err
	}
	why := "the queue of spool " + dir + " does not know it (was " + spool.Env + " another when it was submitted?)"
	if c.Spool != "" {
		why = "the queue of spool " + dir + " does not know it (was spool another when it was submitted?)"
	}
	node, _ := os.Hostname()
	queues := []string{c.Identity()}
	for i := range out {
		out[i].Queues = queues
		if out[i].Presence == offer.Absent {
			out[i].Reason, out[i].Node = why, node
		}
	}
	return out, nil
}

// Watch calls fn with the events after a cursor, until ctx ends or fn returns an error.
// Without handles, it acknowledges the events before the cursor.
func (c *Client) Watch(ctx context.Context, p Tenant, r providers.WatchRequest, fn func(providers.Batch) error) error {
	cursor := r.Cursor
	for {
		var b providers.Batch
		if err := c.Call(ctx, "watch", wire.Watch{Place: p, Handles: r.Handles, Cursor: cursor, Ack: &r.Ack, Wait: wire.PollWait}, &b); err != nil {
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

// Cancel ends jobs; the events of running ones follow when they have ended.
func (c *Client) Cancel(ctx context.Context, p Tenant, r providers.CancelRequest) (out []providers.Outcome, err error) {
	return out, c.Call(ctx, "cancel_jobs", wire.Cancel{Place: p, Request: r}, &out)
}

// Control changes which jobs may start by themselves.
func (c *Client) Control(ctx context.Context, p Tenant, r providers.ControlRequest) error {
	return c.Call(ctx, "control", wire.Control{Place: p, Request: r}, nil)
}

// Remove moves files aside or deletes them, under a fence.
func (c *Client) Remove(ctx context.Context, p Tenant, r providers.RemoveRequest) error {
	return c.Call(ctx, "remove", wire.Remove{Place: p, Request: r}, nil)
}

// Clean forgets ended jobs, those of the place even if their end has not been
// acknowledged.
func (c *Client) Clean(ctx context.Context, p Tenant) (removed []string, err error) {
	return removed, c.Call(ctx, "clean", wire.Clean{Place: p}, &removed)
}

// Busy is the resources of the running queue's jobs. It starts no queue: without one, none are
// in use.
func (c *Client) Busy(ctx context.Context) (machine.Busy, error) {
	dir, err := c.dir()
	if err != nil {
		return machine.Busy{}, err
	}
	conn, err := dial(dir)
	if err != nil {
		return machine.Busy{}, nil
	}
	if stopped(dir) {
		conn.Close()
		return machine.Busy{}, c.hung(wire.Silent{})
	}
	l := wire.NewLink(conn, c.Silence)
	defer l.Close()
	var s wire.QueueStatus
	var silent wire.Silent
	switch err := l.Ask(ctx, "status", json.RawMessage("{}"), &s); {
	case errors.As(err, &silent):
		return machine.Busy{}, c.hung(silent)
	case err != nil:
		return machine.Busy{}, err
	}
	return machine.Busy{CPUs: s.CPUs, GPUs: s.GPUs, Jobs: s.Running}, nil
}

// Running reports whether a queue listens now. It starts none.
func (c *Client) Running() (bool, error) {
	dir, err := c.dir()
	if err != nil {
		return false, err
	}
	conn, err := dial(dir)
	if err != nil {
		return false, nil
	}
	return true, conn.Close()
}
