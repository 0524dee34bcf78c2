package forecast

import "slices"

// An edge releases the consumers of a group when its last producer ends.
type edge struct {
	consumer int     // node
	left     []int32 // producers still to end, by group
	groups   rows    // producer cell → groups that read it
	cells    rows    // group → consumer cells
}

// rows is a list of lists in two arrays.
type rows struct{ start, item []int32 }

func (r rows) of(i int32) []int32 { return r.item[r.start[i]:r.start[i+1]] }

// newRows fills rows from pairs (row, item), given twice: to count, to place.
func newRows(n int, pairs func(yield func(row, item int32))) rows {
	r := rows{start: make([]int32, n+1)}
	pairs(func(row, _ int32) { r.start[row+1]++ })
	for i := range n {
		r.start[i+1] += r.start[i]
	}
	r.item = make([]int32, r.start[n])
	next := append([]int32(nil), r.start[:n]...)
	pairs(func(row, item int32) {
		r.item[next[row]] = item
		next[row]++
	})
	return r
}

// ending are the groups of producers that cells wait for: of a partial edge without
// those that never end.
func (e Edge) ending(of []uint16) []uint16 {
	if !e.Partial || !slices.Contains(of, Never) {
		return of
	}
	out := slices.Clone(of)
	for i, g := range out {
		if g == Never {
			out[i] = 0
		}
	}
	return out
}

// newEdge joins a consumer's cells (by their index in the phase; nil = all) to
// the producers that are still to run. It adds to pending the number of
// producers for which each cell waits, and returns nil when they wait for
// none. Where reads is given, other cells wait for nothing of it.
func newEdge(in Join, consumer int, cells []int32, of []uint16, pending []int32, reads func(cell int) bool) *edge {
	groups := in.Groups()
	e := &edge{consumer: consumer, left: make([]int32, groups)}
	e.groups = newRows(len(of), func(yield func(row, item int32)) {
		for g := range groups {
			for _, m := range in.Members(g) {
				if of[m] != 0 {
					yield(int32(m), int32(g))
				}
			}
		}
	})
	if len(e.groups.item) == 0 {
		return nil
	}
	for _, g := range e.groups.item {
		e.left[g]++
	}
	e.cells = newRows(groups, func(yield func(row, item int32)) {
		for i := range pending {
			c := i
			if cells != nil {
				c = int(cells[i])
			}
			if g := in.GroupOf(c); e.left[g] > 0 && (reads == nil || reads(c)) {
				yield(int32(g), int32(i))
			}
		}
	})
	for _, i := range e.cells.item {
		pending[i]++
	}
	return e
}

// ended counts producers down and calls release for each freed consumer.
func (e *edge) ended(producers []int32, release func(producer, cell int32)) {
	for _, p := range producers {
		for _, g := range e.groups.of(p) {
			if e.left[g]--; e.left[g] == 0 {
				for _, cell := range e.cells.of(g) {
					release(p, cell)
				}
			}
		}
	}
}
