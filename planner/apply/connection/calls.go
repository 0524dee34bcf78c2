package connection

import (
	"time"

	"github.com/muster-run/muster/internal/clock"
)

// A Loop runs posted closures, one after another, until it is done.
type Loop interface {
	Post(func())
	Later(time.Duration, func()) // posts, unless the loop ends before
	Spawn(func())                // a goroutine that ends with the loop
	Park(func() bool)            // before a wait; see clock.Clock
	Done() <-chan struct{}
}

// Calls are the calls to one backend: made one after another beside the
// loop, which alone touches this value.
type Calls struct {
	loop    Loop
	work    chan func() // to the sender
	busy    bool
	waiting []func() // for the sender, in order
}

// Begin starts the sender.
func (c *Calls) Begin(l Loop) {
	c.loop, c.work = l, make(chan func(), 1) // of one call at a time
	work := c.work
	l.Spawn(func() {
		for {
			l.Park(func() bool { return len(work) > 0 || clock.Closed(l.Done()) })
			select {
			case f := <-work:
				f()
			case <-l.Done():
				return
			}
		}
	})
}

// Call queues a call to a backend; then runs in the loop when it is over.
func (c *Calls) Call(do func(), then func()) {
	c.waiting = append(c.waiting, func() {
		do()
		c.loop.Post(func() {
			c.busy = false
			then()
			c.pump()
		})
	})
	c.pump()
}

// pump starts the next call if the sender is free.
func (c *Calls) pump() {
	if c.busy || len(c.waiting) == 0 {
		return
	}
	f := c.waiting[0]
	c.waiting = c.waiting[1:]
	c.busy = true
	select {
	case c.work <- f:
	case <-c.loop.Done():
	}
}

// Idle reports whether no call is under way or waits.
func (c *Calls) Idle() bool { return !c.busy && len(c.waiting) == 0 }

// Queued reports whether a call waits for the one under way.
func (c *Calls) Queued() bool { return len(c.waiting) > 0 }

// Calling reports whether a call is under way.
func (c *Calls) Calling() bool { return c.busy }
