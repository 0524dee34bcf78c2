package forecast

import (
	"cmp"
	"container/heap"
	"slices"
	"time"
)

// The simulation is discrete-event over nodes: a phase's runs are one node, its smokes
// another.
//
//	waits for others ──ready──▶ idle ──caps──▶ submitted ──wait──▶ queued ──room──▶ running ──end──▶ releases others
//
// Like cells that start together end together, so an event is a batch and the cost is linear
// in jobs and edges.
//
// A cell takes 4 bytes (producers it waits for) + 8 (the producer that released it) + 4 (its
// place in a line), and an edge 12.
type sim struct {
	now      time.Duration
	submitAt time.Duration // when the first jobs go to their backends
	events   eventHeap
	seq      int
	nodes    []*node
	pools    map[string]*capacity
	caps     map[string]*int64 // by backend; "" is the campaign's
	dirty    []int             // nodes with fresh cells
	end      time.Duration
	last     ref // cell that ended last
}

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
	ended bool // else: the queue wait is over
	batch batch
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
	old[len(old)-1] = event{}
	*h = old[:len(old)-1]
	return e
}

// play runs until nothing can happen any more.
func (s *sim) play() {
	s.begin()
	for len(s.events) > 0 {
		s.step()
	}
}

// begin starts the jobs that can start at once, after those that run already.
func (s *sim) begin() {
	s.resume()
	s.now = s.submitAt
	for i, n := range s.nodes {
		for c := range n.pending {
			if n.pending[c] == 0 {
				s.ready(i, int32(c), nobody)
			}
		}
	}
	s.lineUp()
	s.start()
}

// step goes to the next instant at which something happens.
func (s *sim) step() {
	s.now = max(s.now, s.events[0].at)
	for len(s.events) > 0 && s.events[0].at <= s.now {
		s.fold(heap.Pop(&s.events).(event))
	}
	s.lineUp()
	s.start()
}

// resume starts the jobs that run already. They hold their resources, whatever the caps now,
// and no gate, edge or line keeps them.
func (s *sim) resume() {
	for i, n := range s.nodes {
		for g := range n.groups {
			r := n.groups[g]
			if !r.inFlight {
				continue
			}
			var cells []int32
			for c, of := range n.of {
				if int(of) == g {
					cells = append(cells, int32(c))
					n.pending[c], n.cause[c] = done, nobody
				}
			}
			if len(cells) > 0 {
				s.activate(n, len(cells))
				n.lines[r.line].hold(int64(len(cells)), s.now)
				s.run(i, batch{uint16(g), cells})
			}
		}
	}
}

// done is the count of a cell that must not become ready any more: no number
// of releases brings it to zero.
const done = -1

// ready marks a cell for which nothing is left to wait.
func (s *sim) ready(i int, cell int32, cause ref) {
	n := s.nodes[i]
	g := n.of[cell]
	if g == 0 || g == Never {
		return
	}
	n.cause[cell] = cause
	if len(n.touched) == 0 {
		s.dirty = append(s.dirty, i)
	}
	if len(n.fresh[g]) == 0 {
		n.touched = append(n.touched, g)
	}
	n.fresh[g] = append(n.fresh[g], cell)
}

// lineUp puts the cells that became ready in this instant into their lines.
func (s *sim) lineUp() {
	for _, i := range s.dirty {
		n := s.nodes[i]
		if n.mixed {
			n.lineUpInOrder()
			continue
		}
		slices.SortStableFunc(n.touched, n.longestFirst)
		for _, g := range n.touched {
			cells := n.fresh[g]
			n.fresh[g] = nil
			n.lines[n.groups[g].line].idle.push(batch{g, cells})
			n.waiting += len(cells)
		}
		n.touched = n.touched[:0]
	}
	s.dirty = s.dirty[:0]
}

// longestFirst is the order in which the engine starts ready jobs.
func (n *node) longestFirst(a, b uint16) int {
	return cmp.Compare(n.groups[b].expected, n.groups[a].expected)
}

// lineUpInOrder does so in the order of the cells.
func (n *node) lineUpInOrder() {
	type one struct {
		cell  int32
		group uint16
	}
	var fresh []one
	for _, g := range n.touched {
		for _, c := range n.fresh[g] {
			fresh = append(fresh, one{c, g})
		}
		n.fresh[g] = nil
	}
	n.touched = n.touched[:0]
	slices.SortFunc(fresh, func(a, b one) int { return cmp.Or(n.longestFirst(a.group, b.group), cmp.Compare(a.cell, b.cell)) })
	for _, f := range fresh {
		n.lines[n.groups[f.group].line].idle.push(batch{f.group, []int32{f.cell}})
	}
	n.waiting += len(fresh)
}

func (s *sim) push(e event) {
	e.seq = s.seq
	s.seq++
	heap.Push(&s.events, e)
}

// activate keeps the intervals in which jobs of a phase are with a backend:
// queued or running.
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
	n, cells := s.nodes[e.node], e.batch.cells
	l := &n.lines[n.groups[e.batch.group].line]
	if !e.ended {
		l.queued.push(e.batch)
		n.waiting += len(cells)
		return
	}
	l.take(-int64(len(cells)))
	if failed := n.groups[e.batch.group]; failed.next != 0 { // it is in the queue again, and counts in the caps
		s.push(event{at: s.now + failed.gap, node: e.node, batch: batch{failed.next, cells}})
		return
	}
	l.hold(-int64(len(cells)), s.now)
	s.activate(n, -len(cells))
	s.end, s.last = s.now, ref{int32(e.node), cells[len(cells)-1]}
	for _, b := range n.ends {
		s.count(b, e)
	}
	for _, ed := range n.edges {
		ed.ended(cells, func(producer, cell int32) { s.less(ed.consumer, cell, ref{int32(e.node), producer}) })
	}
}

// less counts down the producers for which a cell waits.
func (s *sim) less(i int, cell int32, cause ref) {
	n := s.nodes[i]
	if n.pending[cell]--; n.pending[cell] == 0 {
		s.ready(i, cell, cause)
	}
}

// count takes the ends of a batch off a barrier and opens it at zero.
func (s *sim) count(b *barrier, e event) {
	if b.left == 0 {
		return
	}
	cause := nobody
	for _, c := range e.batch.cells {
		if b.only == nil || b.only[c] {
			b.left--
			cause = ref{int32(e.node), c}
		}
	}
	if b.left > 0 {
		return
	}
	if b.release == nil {
		for c := range s.nodes[b.target].pending {
			s.less(b.target, int32(c), cause)
		}
	}
	for _, c := range b.release {
		s.less(b.target, c, cause)
	}
}
