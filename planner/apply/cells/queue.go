package cells

import (
	"cmp"
	"container/heap"
	"time"
)

// A Queue of cells: by Rank where the phase says which start first, then the longest first
// where Length tells how long they take, and of those alike the first in; its front is the next to start. A machine
// that is given its long jobs last is partly idle at the end (Graham
// 1969: longest first ends within a third of the best order there is).
type Queue struct {
	Rank   func(cell int32) float64       // the smallest first; nil: all are alike
	Length func(cell int32) time.Duration // nil: all are alike

	cells []int32 // all alike: from head on, in order
	head  int
	byLen lengths
	seq   int32
}

// Push puts a cell behind those that are as long; Front and Pop want a queue
// that is not empty.
func (q *Queue) Push(cell int32) {
	if q.Length == nil && q.Rank == nil {
		q.cells = append(q.cells, cell)
		return
	}
	q.seq++
	l := length{cell: cell, seq: q.seq}
	if q.Rank != nil {
		l.rank = q.Rank(cell)
	}
	if q.Length != nil {
		l.takes = q.Length(cell)
	}
	heap.Push(&q.byLen, l)
}

// Len is how many cells wait.
func (q *Queue) Len() int { return len(q.cells) - q.head + len(q.byLen) }

// Front is the next cell.
func (q *Queue) Front() int32 {
	if len(q.byLen) > 0 {
		return q.byLen[0].cell
	}
	return q.cells[q.head]
}

// Pop takes the front out.
func (q *Queue) Pop() {
	if len(q.byLen) > 0 {
		heap.Pop(&q.byLen)
		return
	}
	q.head++
	if q.head == len(q.cells) {
		q.cells, q.head = q.cells[:0], 0
	}
}

// Remove takes a cell out of the middle; rare, so linear.
func (q *Queue) Remove(cell int32) bool {
	for i := range q.byLen {
		if q.byLen[i].cell == cell {
			heap.Remove(&q.byLen, i)
			return true
		}
	}
	for i := q.head; i < len(q.cells); i++ {
		if q.cells[i] == cell {
			q.cells = append(q.cells[:i], q.cells[i+1:]...)
			return true
		}
	}
	return false
}

// A length is a cell with its rank and how long it takes. 24 bytes a cell.
type length struct {
	cell, seq int32
	rank      float64
	takes     time.Duration
}

// lengths is a heap, the next to start on top.
type lengths []length

func (h lengths) Len() int { return len(h) }
func (h lengths) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].rank, h[j].rank), cmp.Compare(h[j].takes, h[i].takes), cmp.Compare(h[i].seq, h[j].seq)) < 0
}
func (h lengths) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *lengths) Push(x any)   { *h = append(*h, x.(length)) }
func (h *lengths) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
