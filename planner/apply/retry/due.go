package retry

import (
	"container/heap"
	"time"
)

// A Due is a cell that is retried at a time.
type Due struct {
	At    time.Time
	Phase int // in the order of the campaign
	Cell  int32
}

// Delayed holds launches that are due, the earliest first. The zero value is
// empty.
type Delayed struct{ h dues }

// Add puts a launch where its time is.
func (q *Delayed) Add(d Due) { heap.Push(&q.h, d) }

// Next is the earliest launch, which stays; ok is false when there is none.
func (q *Delayed) Next() (d Due, ok bool) {
	if len(q.h) == 0 {
		return Due{}, false
	}
	return q.h[0], true
}

// Pop takes out the earliest launch, if its time has come by now.
func (q *Delayed) Pop(now time.Time) (d Due, ok bool) {
	if len(q.h) == 0 || q.h[0].At.After(now) {
		return Due{}, false
	}
	return heap.Pop(&q.h).(Due), true
}

// Some reports whether a launch matches.
func (q *Delayed) Some(match func(Due) bool) bool {
	for _, d := range q.h {
		if match(d) {
			return true
		}
	}
	return false
}

type dues []Due

func (h dues) Len() int           { return len(h) }
func (h dues) Less(i, j int) bool { return h[i].At.Before(h[j].At) }
func (h dues) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dues) Push(x any)        { *h = append(*h, x.(Due)) }
func (h *dues) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
