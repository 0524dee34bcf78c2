// Package loop runs posted closures one after another in one goroutine, which
// owns its data. Other goroutines post closures and never touch that data.
package loop

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-run/muster/internal/clock"
)

const (
	inboxSize = 256  // posted closures before whoever posts has to wait
	maxTake   = 4096 // closures run by one Take
)

// A Loop takes part in the time of a clock. Take and Close are its owner's; the
// rest may be called from any goroutine that takes part, too.
type Loop struct {
	time  clock.Clock
	ctx   context.Context // of all calls; ends with the loop
	end   context.CancelFunc
	wg    sync.WaitGroup
	live  atomic.Int32 // goroutines that wg counts
	inbox chan func()
}

// New is a loop that lasts until Close: that ctx ends does not end it, so that
// calls under way have time to end when the caller leaves.
func New(ctx context.Context, t clock.Clock) *Loop {
	l := &Loop{time: t, inbox: make(chan func(), inboxSize)}
	l.ctx, l.end = context.WithCancel(context.WithoutCancel(ctx))
	return l
}

// Context is for calls; it ends with the loop.
func (l *Loop) Context() context.Context { return l.ctx }

// Done is closed when the loop has ended.
func (l *Loop) Done() <-chan struct{} { return l.ctx.Done() }

// Park is called before a wait; see clock.Clock.
func (l *Loop) Park(ready func() bool) { l.time.Park(ready) }

// Post hands a closure to the loop. It waits while 256 others do, and gives up
// when the loop has ended.
func (l *Loop) Post(f func()) {
	if len(l.inbox) == cap(l.inbox) {
		l.time.Park(func() bool { return len(l.inbox) < cap(l.inbox) || clock.Closed(l.ctx.Done()) })
	}
	select {
	case l.inbox <- f:
	case <-l.ctx.Done():
	}
}

// Spawn starts a goroutine that ends with the loop.
func (l *Loop) Spawn(f func()) {
	l.wg.Add(1)
	l.live.Add(1)
	l.time.Go(func() {
		defer l.live.Add(-1)
		defer l.wg.Done()
		f()
	})
}

// Later posts f after d, unless the loop ends before.
func (l *Loop) Later(d time.Duration, f func()) {
	l.Spawn(func() {
		t, stop := l.time.Timer(d)
		defer stop()
		l.time.Park(func() bool { return len(t) > 0 || clock.Closed(l.ctx.Done()) })
		select {
		case <-t:
			l.Post(f)
		case <-l.ctx.Done():
		}
	})
}

// Take waits until something is posted, and runs up to 4096 closures, in order. It comes back
// earlier when the timer goes off, which it reports, and when one of the channels is closed:
// nothing is run any more then. A nil timer never goes off, a nil channel is never closed.
func (l *Loop) Take(timer <-chan time.Time, leave, lost <-chan struct{}) (timeUp bool) {
	ended := func() bool { return clock.Closed(leave) || clock.Closed(lost) }
	l.time.Park(func() bool { return len(l.inbox) > 0 || len(timer) > 0 || ended() })
	if ended() { // or a stopped participant would go on as long as there is news
		return false
	}
	select {
	case <-leave:
	case <-lost:
	case <-timer:
		timeUp = true
	case f := <-l.inbox:
		f()
	}
	for range maxTake - 1 {
		if ended() {
			break
		}
		select {
		case f := <-l.inbox:
			f()
		default:
			return timeUp
		}
	}
	return timeUp
}

// Close ends the loop. It returns when every goroutine has ended; their posts
// are dropped.
func (l *Loop) Close() {
	l.end()
	gone := make(chan struct{})
	go func() { l.wg.Wait(); close(gone) }()
	for {
		l.time.Park(func() bool { return len(l.inbox) > 0 || l.live.Load() == 0 })
		select {
		case <-l.inbox:
		case <-gone:
			return
		}
	}
}
