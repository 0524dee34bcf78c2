package cells

// A Queue of cells, first in first out; its front is at head.
type Queue struct {
	cells []int32
	head  int
}

// Push puts a cell at the end; Front and Pop want a queue that is not empty.
func (q *Queue) Push(cell int32) { q.cells = append(q.cells, cell) }
func (q *Queue) Len() int        { return len(q.cells) - q.head }
func (q *Queue) Front() int32    { return q.cells[q.head] }

// Pop takes the front out.
func (q *Queue) Pop() {
	q.head++
	if q.head == len(q.cells) {
		q.cells, q.head = q.cells[:0], 0
	}
}

// Remove takes a cell out of the middle; rare, so linear.
func (q *Queue) Remove(cell int32) bool {
	for i := q.head; i < len(q.cells); i++ {
		if q.cells[i] == cell {
			q.cells = append(q.cells[:i], q.cells[i+1:]...)
			return true
		}
	}
	return false
}
