package cells

import "github.com/muster-run/muster/lang"

// Groups are the two ends of an input: producers, and the groups of cells
// that read them. A producer feeds at most one group; a group is fed when its
// need is zero.
type Groups struct {
	In    *lang.Input
	Group []int32 // producer cell → group; -1 feeds nobody
	Need  []int32 // by group: producers that are not there yet
	start []int32 // by group: where its consumers begin in cells
	cells []int32 // consumers, group by group
	out   []bool  // producers that their readers go on without; nil: none
}

// NewGroups is linear in the cells of both phases.
func NewGroups(in *lang.Input, producers, consumers int) Groups {
	gs := Groups{In: in}
	n := in.Groups()
	gs.Group = make([]int32, producers)
	for i := range gs.Group {
		gs.Group[i] = -1
	}
	gs.Need = make([]int32, n)
	for g := range n {
		for _, m := range in.Members(g) {
			gs.Group[m] = int32(g)
		}
	}
	gs.start = make([]int32, n+1)
	for c := range consumers {
		gs.start[in.GroupOf(c)+1]++
	}
	for g := range n {
		gs.start[g+1] += gs.start[g]
	}
	next := append([]int32(nil), gs.start[:n]...)
	gs.cells = make([]int32, consumers)
	for c := range consumers {
		g := in.GroupOf(c)
		gs.cells[next[g]] = int32(c)
		next[g]++
	}
	return gs
}

// Consumers are the cells that read a group.
func (gs *Groups) Consumers(g int) []int32 { return gs.cells[gs.start[g]:gs.start[g+1]] }

// Out reports whether the readers of a producer go on without it.
func (gs *Groups) Out(producer int) bool { return gs.out != nil && gs.out[producer] }

// Members are the producers that a group reads, in key order. The slice is shared.
func (gs *Groups) Members(g int) []int {
	all := gs.In.Members(g)
	if gs.out == nil {
		return all
	}
	var read []int
	for _, m := range all {
		if !gs.out[m] {
			read = append(read, m)
		}
	}
	return read
}

// open has a group go on with the producers that are there. It returns the cells
// that nothing of this input keeps waiting any more.
func (gs *Groups) open(g int, there func(producer int) bool) []int32 {
	for _, m := range gs.In.Members(g) {
		if !there(m) {
			if gs.out == nil {
				gs.out = make([]bool, len(gs.Group))
			}
			gs.out[m] = true
		}
	}
	gs.Need[g] = 0
	return gs.Consumers(g)
}

// Count sets how many producers every group still needs.
func (gs *Groups) Count(there func(producer int) bool) {
	clear(gs.Need)
	for m, g := range gs.Group {
		if g >= 0 && !there(m) {
			gs.Need[g]++
		}
	}
}

// Arrive notes that a producer is there. It returns the cells that nothing of
// this input keeps waiting any more.
func (gs *Groups) Arrive(producer int32) []int32 {
	g := gs.Group[producer]
	if g < 0 || gs.Need[g] == 0 {
		return nil
	}
	if gs.Need[g]--; gs.Need[g] > 0 {
		return nil
	}
	return gs.Consumers(int(g))
}
