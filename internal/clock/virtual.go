package clock

import (
	"container/heap"
	"time"
)

// Virtual is a clock whose time passes only when all participants wait; it then jumps to the
// next timer. One participant runs at a time, in turn, so that their actions have one order.
type Virtual struct {
	// Stuck is called, with nobody running, when everybody waits and no timer
	// is left: only somebody outside can end a wait then. Nil sleeps for
	// stuckNap.
	Stuck func()

	now    time.Time
	timers timers
	seq    uint64
	tasks  []*task // all that take part, in turn
	on     int     // whose turn it is
}

// stuckNap is real time, between two looks whether somebody outside did
// something.
const stuckNap = 10 * time.Millisecond

// A task is one goroutine that takes part.
type task struct {
	ready func() bool
	wake  chan struct{}
}

// NewVirtual makes a clock that starts at a time.
func NewVirtual(start time.Time) *Virtual { return &Virtual{now: start} }

// Run makes the caller take part until f returns. Everything else that takes
// part is started below it, and ends before it: f waits for them.
func (v *Virtual) Run(f func()) {
	t := &task{wake: make(chan struct{}, 1)}
	v.tasks, v.on = append(v.tasks, t), len(v.tasks)
	f()
	v.leave(t)
}

// Now is the virtual time. It is for those who take part.
func (v *Virtual) Now() time.Time { return v.now }

// Advance moves a clock on which nobody waits.
func (v *Virtual) Advance(to time.Time) {
	if to.After(v.now) {
		v.now = to
	}
}

// Go lets f take part, from the next wait of the caller on.
func (v *Virtual) Go(f func()) {
	t := &task{ready: always, wake: make(chan struct{}, 1)}
	v.tasks = append(v.tasks, t)
	go func() {
		<-t.wake
		f()
		v.leave(t)
	}()
}

func always() bool { return true }

// Park gives the turn away until ready says so.
func (v *Virtual) Park(ready func() bool) {
	t := v.tasks[v.on]
	t.ready = ready
	v.pass(t)
}

// leave ends a task and gives the turn to the next.
func (v *Virtual) leave(t *task) {
	for i := range v.tasks {
		if v.tasks[i] == t {
			v.tasks = append(v.tasks[:i], v.tasks[i+1:]...)
			v.on = i - 1 // so that the next in turn is the one after
			break
		}
	}
	if len(v.tasks) > 0 {
		v.pass(nil)
	}
}

// pass gives the turn to the next whose wait is over, and the caller's own
// wait until it is its turn again. A nil caller has left.
func (v *Virtual) pass(from *task) {
	to := v.next()
	if to == from {
		return
	}
	to.wake <- struct{}{}
	if from != nil {
		<-from.wake
	}
}

// next is who goes on; time passes until somebody can.
func (v *Virtual) next() *task {
	for {
		n := len(v.tasks)
		for i := range n {
			at := (v.on + 1 + i + n) % n
			if v.tasks[at].ready() {
				v.on = at
				return v.tasks[at]
			}
		}
		switch {
		case len(v.timers) > 0:
			t := heap.Pop(&v.timers).(*timer)
			v.Advance(t.at)
			t.c <- t.at
		case v.Stuck != nil:
			v.Stuck()
		default:
			time.Sleep(stuckNap)
		}
	}
}

// Timer sends once after d.
func (v *Virtual) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := &timer{at: v.now.Add(d), seq: v.seq, c: make(chan time.Time, 1)}
	v.seq++
	heap.Push(&v.timers, t)
	return t.c, func() {
		if t.index >= 0 {
			heap.Remove(&v.timers, t.index)
		}
	}
}

type timer struct {
	at    time.Time
	seq   uint64 // of two at one time the older comes first
	c     chan time.Time
	index int // in the heap; -1 when it is not in it
}

type timers []*timer

func (h timers) Len() int { return len(h) }
func (h timers) Less(i, j int) bool {
	return h[i].at.Before(h[j].at) || h[i].at.Equal(h[j].at) && h[i].seq < h[j].seq
}
func (h timers) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *timers) Push(x any) {
	t := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}
func (h *timers) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	t.index = -1
	return t
}
