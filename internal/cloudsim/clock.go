package cloudsim

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// A Clock is a cloud's time, and the lock on everything in it: due actions run first, each at
// its own time, so that bills do not depend on the time of a request.
type Clock struct {
	mu    sync.Mutex
	from  time.Time // simulated, at began
	began time.Time // real
	speed float64
	now   time.Time // while locked
	queue events
	seq   int
	wake  chan struct{}
}

// NewClock makes a clock that begins at a time and passes speed seconds in one
// real second. At speed 0 only Advance moves it.
func NewClock(start time.Time, speed float64) *Clock {
	return &Clock{from: start, began: time.Now(), speed: speed, now: start, wake: make(chan struct{}, 1)}
}

// Do runs f alone, after everything that is due.
func (c *Clock) Do(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reach(c.reading())
	f()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Now is the time. It is for those whom the clock runs.
func (c *Clock) Now() time.Time { return c.now }

// After has f run after d, unless canceled. It is for those whom the clock runs.
func (c *Clock) After(d time.Duration, f func()) (cancel func()) {
	c.seq++
	e := &event{at: c.now.Add(d), seq: c.seq, run: f}
	heap.Push(&c.queue, e)
	return func() { e.run = func() {} }
}

// Advance moves the clock ahead, and runs the events that fall due on the way.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := c.reading().Add(d)
	c.reach(to)
	c.from, c.began = to, time.Now()
}

// SetSpeed changes how fast the clock runs from now on.
func (c *Clock) SetSpeed(speed float64) {
	c.Do(func() { c.from, c.began, c.speed = c.reading(), time.Now(), speed })
}

// Run runs events as they fall due until ctx ends.
func (c *Clock) Run(ctx context.Context) {
	for ctx.Err() == nil {
		timer := time.NewTimer(c.due())
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-c.wake:
		}
		timer.Stop()
	}
}

// longestNap is real time between two looks at the queue.
const longestNap = time.Minute

// due runs due actions, and returns the real time until the next.
func (c *Clock) due() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reach(c.reading())
	if len(c.queue) == 0 || c.speed == 0 {
		return longestNap
	}
	return min(longestNap, time.Duration(float64(c.queue[0].at.Sub(c.now))/c.speed)+time.Millisecond)
}

func (c *Clock) reading() time.Time {
	return c.from.Add(time.Duration(float64(time.Since(c.began)) * c.speed))
}

func (c *Clock) reach(to time.Time) {
	for len(c.queue) > 0 && !c.queue[0].at.After(to) {
		e := heap.Pop(&c.queue).(*event)
		c.now = e.at
		e.run()
	}
	if to.After(c.now) {
		c.now = to
	}
}

type event struct {
	at  time.Time
	seq int
	run func()
}

type events []*event

func (q events) Len() int      { return len(q) }
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *events) Push(e any)   { *q = append(*q, e.(*event)) }
func (q events) Less(i, j int) bool {
	return q[i].at.Before(q[j].at) || q[i].at.Equal(q[j].at) && q[i].seq < q[j].seq
}

func (q *events) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
