package forecast

import (
	"math"
	"time"

	"github.com/muster-run/muster/planner/place"
)

// A Transfer is one output of a phase's cells on its way to where it is read. A
// link carries one after another, and one that is made goes as soon as it is.
type Transfer struct {
	Name  string  // as it is shown: "teachers.model to ssh.lab"
	Phase string  // that makes it; "" = it is there from the beginning
	Cells []int32 // of that, whose output goes; else classes of files
	Link  string  // the part it shares with others: the slower end
	Each  time.Duration
	Late  time.Duration // nine in ten stay below it
	Basis string
}

// A Leg is a transfer that cells of a phase wait for: those whose decision has them
// read there.
type Leg struct {
	Transfer int
	Reads    func(place.Decision) bool
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

// transfer adds the moves of a phase's inputs, each route once. A move that takes
// no time is over at once.
func (b *builder) transfer(p *Phase) {
	for k := range p.Inputs {
		for _, leg := range p.legs(k) {
			h := &b.in.Transfers[leg.Transfer]
			from, made := b.runs[h.Phase]
			switch _, ok := b.transfers[leg.Transfer]; {
			case ok || h.Each <= 0:
			case made:
				b.transfers[leg.Transfer] = b.addTransfer(h, b.nodes[from].of)
				b.follow(b.transfers[leg.Transfer], from)
			case h.Phase == "":
				b.transfers[leg.Transfer] = b.addTransfer(h, make([]uint16, p.Inputs[k].Join.Groups()))
			}
		}
	}
}

// addTransfer is the node of one way; makers are the cells whose files it may carry.
func (b *builder) addTransfer(h *Transfer, makers []uint16) int {
	link, lanes := "link\x00"+h.Link, b.lanes(h.Link)
	if b.pools[link] == nil {
		b.pools[link] = &capacity{lanes, unlimited, unlimited, unlimited}
	}
	cells := len(makers)
	n := &node{phase: h.Name, transfer: true, cap: limit(0), of: make([]uint16, cells), pending: make([]int32, cells), cause: make([]ref, cells)}
	for _, c := range h.Cells {
		n.of[c] = 1
	}
	n.groups, n.fresh = []run{{}, {dur: b.deal.transfer(h) * time.Duration(lanes)}}, make([][]int32, 2)
	n.lines = []line{{pool: b.pools[link], need: capacity{jobs: 1}, most: &capacity{}, caps: []*int64{n.cap}}}
	b.nodes = append(b.nodes, n)
	return len(b.nodes) - 1
}

// follow has the node of a route wait for the node of the producers whose files
// take it.
func (b *builder) follow(at, from int) {
	n, makers := b.nodes[at], b.nodes[from].of
	if e := newEdge(newItself(len(makers)), at, nil, makers, n.pending, func(c int) bool { return n.of[c] != 0 }); e != nil {
		b.nodes[from].edges = append(b.nodes[from].edges, e)
	}
}

// singly is how many outputs go over a link one by one; of more, as many go side
// by side as make no difference to the whole.
const singly = 5000

// lanes is how many go side by side over a link, each so much more slowly.
func (b *builder) lanes(link string) int64 {
	n := 0
	for _, h := range b.in.Transfers {
		if h.Link == link && h.Each > 0 {
			n += len(h.Cells)
		}
	}
	return int64(max((n+singly-1)/singly, 1))
}

// transfer is how long one output is on its way in a deal: all of a day are slow
// together.
func (d deal) transfer(h *Transfer) time.Duration {
	if h.Each <= 0 || h.Late <= h.Each {
		return h.Each
	}
	spread := math.Log(float64(h.Late)/float64(h.Each)) / z90
	return time.Duration(float64(h.Each) * math.Exp(spread*d.day()))
}

// shownTransfer is the share of the whole from which the time of transfers is shown;
// less is counted all the same.
const shownTransfer = 0.01

// brief reports whether a node is a transfer that makes no difference to see.
func (s *sim) brief(n *node) bool {
	if !n.transfer {
		return false
	}
	var busy time.Duration
	for _, iv := range n.busy {
		busy += iv.To - iv.From
	}
	return float64(busy) < shownTransfer*float64(s.end)
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
