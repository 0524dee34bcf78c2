package forecast

// queue adds cells whose queue wait is over.
func (n *node) queue(g uint16, cells []int32) {
	if n.queued == nil {
		n.queued = make([]fifo, len(n.groups))
	}
	q := &n.queued[g]
	if len(q.cells) == 0 {
		q.cells = cells
	} else {
		q.cells = append(q.cells, cells...) // the tail is the queue's alone: what starts is cut off with its capacity
	}
	n.waiting += len(cells)
}

// start launches what there is room for, producers' phases first.
func (s *sim) start() {
	for i, n := range s.nodes {
		if n.waiting == 0 {
			continue
		}
		for g := range n.queued {
			s.startGroup(i, n, uint16(g))
		}
	}
}

func (s *sim) startGroup(i int, n *node, g uint16) {
	q := &n.queued[g]
	if len(q.cells) == 0 {
		return
	}
	r := n.groups[g]
	k := int(min(s.room(n, r), int64(len(q.cells))))
	if k <= 0 {
		return
	}
	cells := q.cells[:k:k]
	q.cells = q.cells[k:]
	n.waiting -= k
	s.give(n, r, int64(-k))
	s.push(event{at: s.now + r.dur, node: i, group: g, ended: true, cells: cells})
}

// room is how many jobs of a group may start under every cap.
func (s *sim) room(n *node, r run) int64 {
	k := min(n.cap, *s.caps[""])
	if c := s.caps[r.backend]; c != nil {
		k = min(k, *c)
	}
	return min(k, s.pools[r.pool].room(r.need))
}

// give returns what jobs held, or takes it for a negative count.
func (s *sim) give(n *node, r run, k int64) {
	n.cap += k
	*s.caps[""] += k
	if c := s.caps[r.backend]; c != nil {
		*c += k
	}
	s.pools[r.pool].take(r.need, -k)
}
