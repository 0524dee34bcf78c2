package forecast

import "time"

// A node is the runs or the smokes of one phase.
type node struct {
	phase    string // or the name of a transfer
	transfer bool
	groups   []run
	lines    []line // one for each way of starting
	of       []uint16
	pending  []int32 // how many producers each cell still waits for
	cause    []ref   // the producer that released each cell
	fresh    [][]int32
	touched  []uint16 // groups with fresh cells
	mixed    bool     // cells start in their own order, whatever their group
	waiting  int      // cells in lines
	cap      *int64
	edges    []*edge    // to consumers, by cell
	ends     []*barrier // counted down at each end
	active   int        // cells queued or running
	busy     []Interval
}

// A ref is a cell of a node; node -1 is none.
type ref struct{ node, cell int32 }

var nobody = ref{-1, -1}

// A run is one launch of the cells of one group, or of a class of it.
type run struct {
	group    int           // as the forecast has it
	expected time.Duration // of the group: the longest start first
	line     int
	dur      time.Duration
	inFlight bool
	wait     time.Duration // before it starts; 0 = as its line
	// One that fails leaves its place, and is launched again as the run next, which
	// may start so much later; 0 = it ends well.
	next uint16
	gap  time.Duration
}

// A line is where cells that start alike stand: those that take the same of
// the same pool under the same caps, however long they run. Cells are
// submitted while the caps allow, wait as long as the queue is, and start when the
// pool has room; where there is no queue, both happen at once.
type line struct {
	pool   *capacity
	need   capacity
	most   *capacity // the room that our jobs may hold together, and the part of each
	held   capacity
	slots  *int64 // of jobs that have a limit of their own; nil = they have none
	turns  *int64 // places in their allocations, in which others follow; nil = they have none
	caps   []*int64
	wait   time.Duration
	fleet  *fleet        // of rented machines; nil = none
	boot   time.Duration // part of the wait; a machine that is there has booted
	kept   time.Duration // a machine without work
	idle   fifo          // to be submitted
	queued fifo          // whose queue wait is over
}

// A batch is like cells that do the same at the same time.
type batch struct {
	group uint16
	cells []int32
}

// A fifo of batches, first in first out.
type fifo struct {
	head    int
	batches []batch
}

func (q *fifo) empty() bool { return q.head == len(q.batches) }

// push adds a batch at the end. The cells become the queue's own.
func (q *fifo) push(b batch) {
	if k := len(q.batches); k > q.head && q.batches[k-1].group == b.group {
		q.batches[k-1].cells = append(q.batches[k-1].cells, b.cells...)
		return
	}
	if taken := q.head; taken > len(q.batches)/2 {
		q.batches = append(q.batches[:0], q.batches[taken:]...)
		q.head = 0
	}
	q.batches = append(q.batches, b)
}

// pop takes at most n cells, all of one group, from the front. The batch has no spare
// capacity, so that the queue may grow behind it.
func (q *fifo) pop(n int64) batch {
	b := &q.batches[q.head]
	k := int(min(n, int64(len(b.cells))))
	out := batch{b.group, b.cells[:k:k]}
	if b.cells = b.cells[k:]; len(b.cells) == 0 {
		*b = batch{}
		q.head++
	}
	return out
}

// free is how many cells can start.
func (l *line) free() int64 {
	n := min(l.pool.room(l.need), l.most.room(l.held))
	if l.slots != nil {
		n = max(min(n, *l.slots), 0)
	}
	if l.turns != nil {
		n = max(min(n, *l.turns), 0)
	}
	return n
}

// addTurns makes places for jobs of a group that take turns in their allocations.
func (l *line) addTurns(g Group, jobs int) {
	s := g.Decision.Shape
	if !g.packed() || s.Turns() < 2 || jobs == 0 {
		return
	}
	if l.turns == nil {
		l.turns = new(int64)
	}
	*l.turns += int64((jobs + s.Pack - 1) / s.Pack * s.Beside())
}

// take has n cells run; a negative n ends them.
func (l *line) take(n int64) {
	l.pool.take(l.need, n)
	l.most.take(l.held, n)
	if l.slots != nil {
		*l.slots -= n
	}
	if l.turns != nil {
		*l.turns -= n
	}
}

// room is how many cells the caps let be submitted.
func (l *line) room() int64 {
	k := int64(unlimited)
	for _, c := range l.caps {
		k = min(k, *c)
	}
	return k
}

// hold takes n jobs out of the caps; a negative n gives them back.
func (l *line) hold(n int64, now time.Duration) {
	l.fleet.take(n, now)
	for _, c := range l.caps {
		*c -= n
	}
}
