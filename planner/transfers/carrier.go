package transfers

import (
	"fmt"
	"slices"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
)

// A Carrier tells how long transfers take: a consumer starts no earlier than
// when all its inputs have arrived.
type Carrier struct {
	Filesystems *Filesystems
	Backends    []*lang.Backend
	State       *state.State
	Phase       func(name string) *Phase

	links map[string]Link
}

// A way is the route of one output between two filesystems: a file that took it once
// is there for all readers.
type way struct{ phase, output, from, to string }

// Load replaces the transfers in a forecast's input. The input's phases are its own
// afterwards.
func (c *Carrier) Load(in *forecast.Input, rows []Transfer) {
	in.Transfers, in.Phases = nil, slices.Clone(in.Phases)
	for i := range in.Phases {
		in.Phases[i].Legs = make([][]forecast.Leg, len(in.Phases[i].Inputs))
	}
	at := map[way]int{}
	for _, t := range rows {
		reader := slices.IndexFunc(in.Phases, func(p forecast.Phase) bool { return p.Name == t.Phase })
		if reader < 0 {
			continue
		}
		p := c.Phase(t.Phase)
		k, maker := input(&in.Phases[reader], p, t)
		if k < 0 { // a plan that was read from a file may say anything
			continue
		}
		to := c.Filesystems.Of(t.To, t.ToHost)
		w := way{maker, t.Output, c.Filesystems.Of(t.From, t.FromHost).Files, to.Files}
		if t.Raw {
			w.phase, w.output = t.Phase, "input."+t.Input
		}
		n, ok := at[w]
		if !ok {
			n = len(in.Transfers)
			at[w] = n
			in.Transfers = append(in.Transfers, c.transfer(maker, t))
		} else if h := &in.Transfers[n]; !slices.Equal(h.Cells, t.Cells) {
			h.Cells = slices.Compact(slices.Sorted(slices.Values(slices.Concat(h.Cells, t.Cells))))
		}
		legs := in.Phases[reader].Legs
		legs[k] = append(legs[k], forecast.Leg{Transfer: n, Reads: func(d place.Decision) bool { return d.Backend != "" && c.Filesystems.Of(d.Backend, d.Pool).Sees(to) }})
	}
	tell(in.Transfers)
}

// input is the place of a row's input among those of a phase's forecast, and the
// phase that makes it, "" for none. An input that no phase makes is added.
func input(to *forecast.Phase, p *Phase, t Transfer) (k int, maker string) {
	if !t.Raw {
		if k = slices.IndexFunc(p.Inputs, func(x *lang.Input) bool { return x.Name == t.Input }); k >= 0 {
			maker = p.Inputs[k].From.Name
		}
		return k, maker
	}
	i := slices.IndexFunc(p.Phase.Raw, func(x *lang.RawInput) bool { return x.Name == t.Input })
	if i < 0 {
		return i, ""
	}
	to.Inputs = append(slices.Clip(to.Inputs), forecast.Edge{Join: classesOf(p.Phase.Raw[i])})
	to.Legs = append(to.Legs, nil)
	return len(to.Inputs) - 1, ""
}

// tell notes the assumption of each transfer, and once how many outputs have none.
func tell(transfers []forecast.Transfer) {
	free, first := 0, -1
	for i := range transfers {
		h := &transfers[i]
		if h.Each > 0 {
			h.Basis = fmt.Sprintf("%s: %s of %s", h.Name, units.Count(len(h.Cells), "output"), h.Basis)
			continue
		}
		if free += len(h.Cells); first < 0 {
			first = i
		}
	}
	if first >= 0 {
		transfers[first].Basis = countedFree(free)
	}
}

// transfer is one way of a row's outputs, with the source of its figures as its basis.
func (c *Carrier) transfer(maker string, t Transfer) forecast.Transfer {
	_, to := t.Ends()
	h := forecast.Transfer{Name: maker + "." + t.Output + " to " + to, Phase: maker, Cells: t.Cells}
	if t.Raw {
		h.Name = t.Phase + ".input." + t.Input + " to " + to
	}
	link, second := slower(c.link(t.From), c.link(t.To))
	h.Link = t.From
	if second {
		h.Link = t.To
	}
	if size, how := c.sized(maker, t); size >= 0 && link.Bytes > 0 {
		h.Each = link.takes(size)
		h.Late = time.Duration(float64(h.Each) * link.Doubt)
		h.Basis = fmt.Sprintf(how, units.FormatSize(size)) + ", at " + link.rate(h.Link)
	}
	return h
}

func (c *Carrier) link(backend string) Link {
	if l, ok := c.links[backend]; ok {
		return l
	}
	l := Link{Bytes: AssumedBandwidth, How: Assumed, Doubt: assumedDoubt}
	for _, b := range c.Backends {
		if b.Address() == backend {
			l = LinkOf(b, c.State)
		}
	}
	if c.links == nil {
		c.links = map[string]Link{}
	}
	c.links[backend] = l
	return l
}

// sized is how large each of a transfer's outputs is, -1 where nobody knows, and
// how that is said.
func (c *Carrier) sized(maker string, t Transfer) (int64, string) {
	if t.Bytes >= 0 {
		return t.Bytes / int64(max(len(t.Cells), 1)), "%s"
	}
	p := c.Phase(maker)
	if each, _, n := sizes(p.Records, t.Output); n > 0 {
		return each, "%s as seen"
	}
	for _, o := range p.Outputs {
		if o.Name == t.Output && o.MinSize > 0 {
			return o.MinSize, "at least %s"
		}
	}
	return -1, ""
}

// countedFree says that the time of so many outputs that move is not counted.
func countedFree(n int) string {
	if n == 1 {
		return "1 output that moves between backends counts as there at once: its size, or the speed of the link, is not known"
	}
	return units.Count(n, "output") + " that move between backends count as there at once: their size, or the speed of the link, is not known"
}
