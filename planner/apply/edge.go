package apply

import "github.com/muster-run/muster/lang"

// An edge joins a producer phase to the groups of cells that read it. A
// producer feeds at most one group; a group is fed when its need is zero.
type edge struct {
	in       *lang.Input
	from, to *phase
	group    []int32              // producer cell → group; -1 feeds nobody
	need     []int32              // by group: producers that are not there yet
	start    []int32              // by group: where its consumers begin in cells
	cells    []int32              // consumers, group by group
	carried  map[int32]int        // producer cell → transfers still to be made
	to2      map[int32][]*backend // and where to
	facts    map[int32]*fed
}

// newEdge is linear in the cells of both phases.
func newEdge(in *lang.Input, from, to *phase) *edge {
	ed := &edge{in: in, from: from, to: to, facts: map[int32]*fed{}}
	groups := in.Groups()
	ed.group = make([]int32, len(from.at))
	for i := range ed.group {
		ed.group[i] = -1
	}
	ed.need = make([]int32, groups)
	for g := range groups {
		for _, m := range in.Members(g) {
			ed.group[m] = int32(g)
		}
	}
	ed.start = make([]int32, groups+1)
	for c := range to.at {
		ed.start[in.GroupOf(c)+1]++
	}
	for g := range groups {
		ed.start[g+1] += ed.start[g]
	}
	next := append([]int32(nil), ed.start[:groups]...)
	ed.cells = make([]int32, len(to.at))
	for c := range to.at {
		g := in.GroupOf(c)
		ed.cells[next[g]] = int32(c)
		next[g]++
	}
	return ed
}

func (ed *edge) consumers(g int) []int32 { return ed.cells[ed.start[g]:ed.start[g+1]] }

// count sets what every group still needs.
func (ed *edge) count(there func(producer int) bool) {
	clear(ed.need)
	for m, g := range ed.group {
		if g >= 0 && !there(m) {
			ed.need[g]++
		}
	}
}

// carries reports whether a producer's files have yet to be moved.
func (ed *edge) carries(producer int32) bool { return ed.carried[producer] > 0 }

// arrive tells that a producer's files are where its consumers read them.
func (e *engine) arrive(ed *edge, producer int32) {
	g := ed.group[producer]
	if g < 0 || ed.need[g] == 0 {
		return
	}
	if ed.need[g]--; ed.need[g] > 0 {
		return
	}
	for _, c := range ed.consumers(int(g)) {
		e.release(ed.to, c)
	}
}

// release takes one of the things a cell waits for away.
func (e *engine) release(p *phase, cell int32) {
	if p.waits[cell]--; p.waits[cell] > 0 {
		return
	}
	if p.at[cell] == pending {
		e.makeReady(p, cell)
	}
}

// unchain takes back what was handed over to come after a job that failed:
// its queue would keep it for ever.
func (e *engine) unchain(p *phase, cell int32) {
	var late []*flight
	take := func(to *phase, c int32) {
		if to.at[c] != queued && to.at[c] != submitting {
			return
		}
		if f := e.byJob[to.Address(int(c))]; f != nil && f.end == endNot && to.waits[c] > 0 {
			f.end = endAgain
			late = append(late, f)
		}
	}
	for _, ed := range p.edges {
		if g := ed.group[cell]; g >= 0 {
			for _, c := range ed.consumers(int(g)) {
				take(ed.to, c)
			}
		}
	}
	for _, d := range p.after {
		for c := range int32(len(d.at)) {
			take(d, c)
		}
	}
	if len(late) > 0 && e.recovered == 0 {
		e.cancelFlights()
	}
}

// completed tells the cells that wait for this one.
func (e *engine) completed(p *phase, cell int32) {
	for _, ed := range p.edges {
		if ed.carries(cell) {
			e.carry(ed, cell)
			continue
		}
		e.arrive(ed, cell)
	}
	if p.undone--; p.undone > 0 {
		return
	}
	for _, d := range p.after {
		for c := range int32(len(d.waits)) {
			e.release(d, c)
		}
	}
}
