package forecast

import (
	"container/heap"
	"time"
)

// The simulation is discrete-event over nodes: a phase's runs are one node,
// its smokes another. A cell becomes ready when nothing it waits for is left,
// waits in its pool's queue, starts when there is room under every cap, and
// ends after its group's duration. Like cells that start together end
// together, so an event is a batch and the cost is linear in jobs and edges.
//
// A cell takes 4 bytes (what it waits for) + 2 (what released it) + 4 (ready
// list), and an edge 8.
type sim struct {
	now    time.Duration
	events eventHeap
	seq    int
	nodes  []*node
	pools  map[string]*capacity
	caps   map[string]*int64 // by backend; "" is the campaign's
	end    time.Duration
	last   int // node that ended last
}

// A node is the runs or the smokes of one phase.
type node struct {
	phase   string
	groups  []run
	of      []uint16 // group by cell
	pending []int32  // what each cell still waits for
	cause   []int16  // node whose end released the cell; -1 = none
	ready   []fifo   // by group: became ready in this instant
	queued  []fifo   // by group: may start when there is room
	waiting int      // cells in queued
	cap     int64
	edges   []*edge    // to consumers, by cell
	ends    []*barrier // counted down at each end
	active  int        // cells ready or running
	busy    []Interval
	endedBy int16 // cause of the cell that ended last
}

// A run is what the cells of one group do.
type run struct {
	pool, backend string
	need          capacity
	wait, dur     time.Duration
}

// A fifo of cells; taking from it keeps the backing array.
type fifo struct{ cells []int32 }

// A barrier opens when as many cells have ended as it counts.
type barrier struct {
	left    int
	only    map[int32]bool // cells of the node that count; nil = all
	target  int
	release []int32 // cells of the target; nil = all
}

type event struct {
	at    time.Duration
	seq   int // ties are broken by creation, the same way every time
	node  int
	group uint16
	ended bool // else: the queue wait is over
	cells []int32
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(event)) }
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	return e
}

// play runs until nothing can happen any more.
func (s *sim) play() {
	for i, n := range s.nodes {
		for c := range n.pending {
			if n.pending[c] == 0 {
				s.ready(i, int32(c), -1)
			}
		}
	}
	s.enqueue()
	for len(s.events) > 0 {
		s.now = s.events[0].at
		for len(s.events) > 0 && s.events[0].at == s.now {
			s.fold(heap.Pop(&s.events).(event))
		}
		s.enqueue()
		s.start()
	}
}

// ready marks a cell for which nothing is left to wait.
func (s *sim) ready(i int, cell int32, cause int16) {
	n := s.nodes[i]
	g := n.of[cell]
	if g == 0 || g == Never {
		return
	}
	n.cause[cell] = cause
	n.ready[g].cells = append(n.ready[g].cells, cell)
}

// enqueue lets what became ready wait for its pool's queue.
func (s *sim) enqueue() {
	for i, n := range s.nodes {
		for g := range n.ready {
			cells := n.ready[g].cells
			if len(cells) == 0 {
				continue
			}
			n.ready[g].cells = nil
			s.activate(n, len(cells))
			s.push(event{at: s.now + n.groups[g].wait, node: i, group: uint16(g), cells: cells})
		}
	}
}

func (s *sim) push(e event) {
	e.seq = s.seq
	s.seq++
	heap.Push(&s.events, e)
}

// activate keeps the intervals in which a phase has work under way.
func (s *sim) activate(n *node, by int) {
	if n.active == 0 && by > 0 {
		if k := len(n.busy); k > 0 && n.busy[k-1].To == s.now {
			n.busy[k-1].To = -1
		} else {
			n.busy = append(n.busy, Interval{From: s.now, To: -1})
		}
	}
	n.active += by
	if n.active == 0 {
		n.busy[len(n.busy)-1].To = s.now
	}
}

// fold takes an event in.
func (s *sim) fold(e event) {
	n := s.nodes[e.node]
	if !e.ended {
		n.queue(e.group, e.cells)
		return
	}
	s.give(n, n.groups[e.group], int64(len(e.cells)))
	s.activate(n, -len(e.cells))
	s.end, s.last, n.endedBy = s.now, e.node, n.cause[e.cells[len(e.cells)-1]]
	for _, b := range n.ends {
		s.count(b, e)
	}
	for _, ed := range n.edges {
		ed.ended(e.cells, func(cell int32) { s.less(ed.consumer, cell, e.node) })
	}
}

// less counts down what a cell waits for.
func (s *sim) less(i int, cell int32, cause int) {
	n := s.nodes[i]
	if n.pending[cell]--; n.pending[cell] == 0 {
		s.ready(i, cell, int16(cause))
	}
}

func (s *sim) count(b *barrier, e event) {
	if b.left == 0 {
		return
	}
	for _, c := range e.cells {
		if b.only == nil || b.only[c] {
			b.left--
		}
	}
	if b.left > 0 {
		return
	}
	if b.release == nil {
		for c := range s.nodes[b.target].pending {
			s.less(b.target, int32(c), e.node)
		}
	}
	for _, c := range b.release {
		s.less(b.target, c, e.node)
	}
}
