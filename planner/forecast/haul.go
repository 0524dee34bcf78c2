package forecast

import (
	"math"
	"time"

	"github.com/muster-run/muster/planner/place"
)

// A Haul is one output of a phase's cells on its way to where it is read. A
// link carries one after another, and one that is made goes as soon as it is.
type Haul struct {
	Name  string  // as it is shown: "teachers.model to ssh.lab"
	Phase string  // that makes it
	Cells []int32 // of that, whose output goes
	Link  string  // what it shares with others: the slower end
	Each  time.Duration
	Late  time.Duration // what nine in ten stay below
	Basis string
}

// A Leg is a haul that cells of a phase wait for: those whose decision has them
// read there.
type Leg struct {
	Haul  int
	Reads func(place.Decision) bool
}

// legs are those of an input.
func (p *Phase) legs(input int) []Leg {
	if input >= len(p.Legs) {
		return nil
	}
	return p.Legs[input]
}

// readsHere tells which cells wait for a leg: by where they go, or where their
// smoke goes.
func (p *Phase) readsHere(l Leg, smoke bool) func(cell int) bool {
	if smoke {
		here := l.Reads(p.SmokeJob.Decision)
		return func(int) bool { return here }
	}
	here := make([]bool, len(p.Groups))
	for i, g := range p.Groups {
		here[i] = i > 0 && l.Reads(g.Decision)
	}
	return func(cell int) bool { g := p.Of[cell]; return g != Never && here[g] }
}

// haul adds what moves to where a phase reads it, each way once. What takes no
// time is there at once.
func (b *builder) haul(p *Phase) {
	for k := range p.Inputs {
		for _, leg := range p.legs(k) {
			h := &b.in.Hauls[leg.Haul]
			from, made := b.runs[h.Phase]
			if _, ok := b.hauls[leg.Haul]; !ok && made && h.Each > 0 {
				b.hauls[leg.Haul] = b.addHaul(h, from)
			}
		}
	}
}

// addHaul is the node of one way, which waits for the node of those who make
// what goes it.
func (b *builder) addHaul(h *Haul, from int) int {
	link, lanes := "link\x00"+h.Link, b.lanes(h.Link)
	if b.pools[link] == nil {
		b.pools[link] = &capacity{lanes, unlimited, unlimited, unlimited}
	}
	makers := b.nodes[from].of
	cells := len(makers)
	n := &node{phase: h.Name, haul: true, cap: limit(0), of: make([]uint16, cells), pending: make([]int32, cells), cause: make([]ref, cells)}
	for _, c := range h.Cells {
		n.of[c] = 1
	}
	n.groups, n.fresh = []run{{}, {dur: b.deal.haul(h) * time.Duration(lanes)}}, make([][]int32, 2)
	n.lines = []line{{pool: b.pools[link], need: capacity{jobs: 1}, caps: []*int64{n.cap}}}
	b.nodes = append(b.nodes, n)
	at := len(b.nodes) - 1
	if e := newEdge(newItself(cells), at, nil, makers, n.pending, func(c int) bool { return n.of[c] != 0 }); e != nil {
		b.nodes[from].edges = append(b.nodes[from].edges, e)
	}
	return at
}

// singly is how many outputs go over a link one by one; of more, as many go side
// by side as make no difference to the whole.
const singly = 5000

// lanes is how many go side by side over a link, each so much more slowly.
func (b *builder) lanes(link string) int64 {
	n := 0
	for _, h := range b.in.Hauls {
		if h.Link == link && h.Each > 0 {
			n += len(h.Cells)
		}
	}
	return int64(max((n+singly-1)/singly, 1))
}

// haul is how long one output is on its way in a deal: all of a day are slow
// together.
func (d deal) haul(h *Haul) time.Duration {
	if h.Each <= 0 || h.Late <= h.Each {
		return h.Each
	}
	spread := math.Log(float64(h.Late)/float64(h.Each)) / z90
	return time.Duration(float64(h.Each) * math.Exp(spread*d.day()))
}

// shownHaul is from what share of the whole on the time that something is on its
// way is shown; less is counted all the same.
const shownHaul = 0.01

// brief reports whether a node is a haul that makes no difference to see.
func (s *sim) brief(n *node) bool {
	if !n.haul {
		return false
	}
	var busy time.Duration
	for _, iv := range n.busy {
		busy += iv.To - iv.From
	}
	return float64(busy) < shownHaul*float64(s.end)
}

// itself joins each cell to the one of its number.
type itself []int

func newItself(cells int) itself {
	out := make(itself, cells)
	for i := range out {
		out[i] = i
	}
	return out
}

func (n itself) Groups() int            { return len(n) }
func (n itself) GroupOf(cell int) int   { return cell }
func (n itself) Members(cell int) []int { return n[cell : cell+1] }
