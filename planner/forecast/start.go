package forecast

import "cmp"

// start launches the jobs for which there is room, producers' phases first.
func (s *sim) start() {
	for i, n := range s.nodes {
		if n.waiting == 0 {
			continue
		}
		for k := range n.lines {
			l := &n.lines[k]
			s.fill(i, l)
			s.submit(i, l)
		}
	}
}

// fill starts jobs whose queue wait is over. They are in the caps already.
func (s *sim) fill(i int, l *line) {
	if l.queued.empty() {
		return
	}
	for room := l.free(); room > 0 && !l.queued.empty(); {
		b := l.queued.pop(room)
		room -= int64(len(b.cells))
		s.nodes[i].waiting -= len(b.cells)
		s.run(i, b)
	}
}

// submit gives jobs to their backend while the caps allow. Without a queue
// to wait in, a job is not submitted before it can start.
func (s *sim) submit(i int, l *line) {
	if l.idle.empty() {
		return
	}
	room := l.room()
	if l.wait == 0 {
		room = min(room, l.free())
	}
	for room > 0 && !l.idle.empty() {
		there := min(l.fleet.idle(s.now, l.kept), l.free())
		b := l.idle.pop(min(room, cmp.Or(there, room)))
		k := int64(len(b.cells))
		room -= k
		l.hold(k, s.now)
		s.activate(s.nodes[i], len(b.cells))
		s.nodes[i].waiting -= len(b.cells)
		wait := l.wait
		if wait > 0 {
			wait = cmp.Or(s.nodes[i].groups[b.group].wait, wait)
		}
		if there > 0 {
			wait = max(wait-l.boot, 0)
		}
		if wait == 0 {
			s.run(i, b)
		} else {
			s.push(event{at: s.now + wait, node: i, batch: b})
		}
	}
}

// run takes a batch's share of its pool and forecasts its end.
func (s *sim) run(i int, b batch) {
	n := s.nodes[i]
	r := n.groups[b.group]
	l := &n.lines[r.line]
	l.take(int64(len(b.cells)))
	s.push(event{at: s.now + r.dur, node: i, ended: true, batch: b})
}
