package state

import "iter"

// Fill gives a state that has no jobs the rows of a snapshot, in parts. It
// says which row is out of order, "" when none is: rows are sorted by key, so
// that none is there twice.
func (s *State) Fill(parts [][]Job) (disordered string) {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	s.Jobs = make(map[string]*Job, n)
	last := ""
	for _, part := range parts {
		for i := range part {
			key := part[i].Key()
			if key <= last {
				return key
			}
			s.Jobs[key], last = &part[i], key
		}
	}
	s.rows, s.filled = parts, n
	return ""
}

// Show gives a state rows to look at, in parts, each by key, and nothing else: Jobs
// stays empty, so that a state of which little is known costs little.
func (s *State) Show(rows [][]Job) { s.Jobs, s.rows, s.filled = nil, rows, 0 }

// All yields every record once. As read from a snapshot they come as they are
// in memory, by key, which is several times faster than a walk over the map;
// once an event changed one they come in no order.
func (s *State) All() iter.Seq2[string, *Job] {
	return func(yield func(string, *Job) bool) {
		if s.rows == nil || s.filled != len(s.Jobs) {
			for key, j := range s.Jobs {
				if !yield(key, j) {
					return
				}
			}
			return
		}
		for _, part := range s.rows {
			for i := range part {
				if !yield(part[i].Key(), &part[i]) {
					return
				}
			}
		}
	}
}
