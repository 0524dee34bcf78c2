package cells

import (
	"iter"
	"slices"
)

// A Vertex is a phase among others: its cells, the gate before them, its inputs and its
// consumers.
type Vertex struct {
	Tally
	Gate      Gate
	Ord       int     // in the order of the campaign: producers come first
	Undone    int     // cells that keep those waiting that wait for all of them
	Reads     []*Join // its inputs
	Feeds     []*Join
	Awaits    []*Vertex // of these every cell
	AwaitedBy []*Vertex
}

// A Join is an input between the phase that makes it and the one that reads
// it.
type Join struct {
	*Groups
	From, To *Vertex
}

// Connect joins two phases by an input.
func Connect(gs *Groups, from, to *Vertex) {
	j := &Join{Groups: gs, From: from, To: to}
	from.Feeds = append(from.Feeds, j)
	to.Reads = append(to.Reads, j)
}

// Await has a phase wait for every cell of another.
func (n *Vertex) Await(from *Vertex) {
	n.Awaits = append(n.Awaits, from)
	from.AwaitedBy = append(from.AwaitedBy, n)
}

// Count works out, from their statuses, the cells for which each cell waits.
func Count(all []*Vertex) {
	for _, n := range all {
		n.Undone = len(n.At) - n.Counts[Done] - n.Counts[SkippedDone]
	}
	for _, n := range all {
		for _, j := range n.Reads {
			j.Groups.Count(func(producer int) bool { return j.From.At[producer].Satisfied() })
			for g, need := range j.Need {
				if need > 0 {
					for _, c := range j.Consumers(g) {
						n.Waits[c]++
					}
				}
			}
		}
		for _, from := range n.Awaits {
			if from.Undone > 0 {
				for c := range n.Waits {
					n.Waits[c]++
				}
			}
		}
	}
}

// Complete notes that a cell is done. Freed is called with each cell that waits
// for nothing any more.
func (n *Vertex) Complete(cell int32, freed func(*Vertex, int32)) {
	for _, j := range n.Feeds {
		for _, c := range j.Arrive(cell) {
			j.To.release(c, freed)
		}
	}
	if n.Undone--; n.Undone > 0 {
		return
	}
	for _, to := range n.AwaitedBy {
		for c := range int32(len(to.Waits)) {
			to.release(c, freed)
		}
	}
}

// release notes that a cell waits for one thing less.
func (n *Vertex) release(c int32, freed func(*Vertex, int32)) {
	if n.Waits[c]--; n.Waits[c] > 0 {
		return
	}
	n.Gate.Reached(c)
	if n.At[c] == Pending {
		freed(n, c)
	}
}

// Behind are the cells whose jobs may be queued behind that of a cell, through an input or
// because they wait for its whole phase. A job that may go on with some producers is not: it is
// submitted when all of them have ended.
func (n *Vertex) Behind(cell int32) iter.Seq2[*Vertex, int32] {
	return func(yield func(*Vertex, int32) bool) {
		for _, j := range n.Feeds {
			if g := j.Group[cell]; g >= 0 && !j.In.Partial() {
				for _, c := range j.Consumers(int(g)) {
					if !yield(j.To, c) {
						return
					}
				}
			}
		}
		for _, to := range n.AwaitedBy {
			for c := range int32(len(to.At)) {
				if !yield(to, c) {
					return
				}
			}
		}
	}
}

// Ahead are the cells that a cell still comes after.
func (n *Vertex) Ahead(cell int32) iter.Seq2[*Vertex, int32] {
	return func(yield func(*Vertex, int32) bool) {
		for _, j := range n.Reads {
			for _, m := range j.Members(j.In.GroupOf(int(cell))) {
				if !j.From.At[m].Satisfied() && !yield(j.From, int32(m)) {
					return
				}
			}
		}
		for _, from := range n.Awaits {
			if from.Undone == 0 {
				continue
			}
			for m := range int32(len(from.At)) {
				if !from.At[m].Satisfied() && !yield(from, m) {
					return
				}
			}
		}
	}
}

// Stopped reports whether a cell will not be done until a person acts.
func (s Status) Stopped() bool {
	return s == Failed || s == Held || s == Cancelled || s == Altered || s == Changed
}

// Blocked counts, by phase, the cells that wait for something that will not
// come by itself: failed, held, cancelled, skipped, or blocked in turn.
func Blocked(all []*Vertex) []int {
	out := make([]int, len(all))
	for i, stuck := range stuck(all, func(n *Vertex, cell int32) bool { return n.At[cell].Stopped() || n.At[cell] == Skipped }) {
		for c, bad := range stuck {
			if bad && all[i].waits(c) {
				out[i]++
			}
		}
	}
	return out
}

// stuck marks, by phase, the cells that will not complete: those that stopped, and
// what waits for them.
func stuck(all []*Vertex, stopped func(n *Vertex, cell int32) bool) [][]bool {
	out := make([][]bool, len(all))
	for i, n := range all {
		out[i] = n.stuck(out, stopped)
	}
	return out
}

func (n *Vertex) waits(cell int) bool { return n.At[cell] == Pending || n.At[cell] == Ready }

// stuck marks the cells of a phase that will not complete; nil when there are
// none. Before are those of the phases before it.
func (n *Vertex) stuck(before [][]bool, stopped func(n *Vertex, cell int32) bool) []bool {
	var out []bool
	mark := func(c int) {
		if out == nil {
			out = make([]bool, len(n.At))
		}
		out[c] = true
	}
	if n.Counts[Failed]+n.Counts[Held]+n.Counts[Cancelled]+n.Counts[Altered]+n.Counts[Changed]+n.Counts[Skipped] > 0 {
		for c := range n.At {
			if stopped(n, int32(c)) {
				mark(c)
			}
		}
	}
	for _, j := range n.Reads {
		for g, n := range j.without(before[j.From.Ord]) {
			if all := len(j.In.Members(g)); j.Need[g] > 0 && all-n < j.In.Required(all) {
				for _, c := range j.Consumers(g) {
					mark(int(c))
				}
			}
		}
	}
	_, whole := n.Gate.Stopped()
	for _, from := range n.Awaits {
		whole = whole || slices.Contains(before[from.Ord], true)
	}
	for c := range n.Gate.Pilots {
		whole = whole || stopped(n, c)
	}
	if whole {
		for c := range n.At {
			if n.waits(c) {
				mark(c)
			}
		}
	}
	return out
}
