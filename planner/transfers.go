package planner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// A move of one input's files between two backends, in the making.
type haul struct {
	t       Transfer
	unknown bool
}

// transfers lists the files that consumers of this plan read on another
// backend than where they lie. Each producer is counted once for a
// destination, however many consumers read it there.
func (m *maker) transfers() {
	for _, w := range m.works {
		for _, in := range w.p.Inputs {
			m.transferInput(w, in)
		}
	}
}

func (m *maker) transferInput(w *work, in *lang.Input) {
	from := m.byPhase[in.From.Name]
	if m.onePlace(w, from) {
		return
	}
	hauls := map[[2]string]*haul{}
	type need struct {
		group int
		to    string
	}
	done := map[need]bool{}
	for i, k := range w.pp.Kind {
		if !k.Starts() {
			continue
		}
		n := need{in.GroupOf(i), w.pp.Decision(i).Backend}
		if n.to == "" || done[n] {
			continue
		}
		done[n] = true
		for _, p := range in.Members(n.group) {
			m.haul(hauls, w, from, in, p, n.to)
		}
	}
	var out []Transfer
	for _, h := range hauls {
		if h.unknown {
			h.t.Bytes, h.t.After = -1, from.p.Name
		}
		slices.Sort(h.t.Cells)
		out = append(out, h.t)
	}
	slices.SortFunc(out, func(a, b Transfer) int {
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To))
	})
	m.plan.Transfers = append(m.plan.Transfers, out...)
}

// onePlace is the common case: everything on one machine.
func (m *maker) onePlace(w, from *work) bool {
	only := ""
	for _, d := range slices.Concat(w.pp.Placements, from.pp.Placements) {
		switch {
		case d.Backend == "":
		case only == "":
			only = d.Backend
		case !samePlace(only, d.Backend):
			return false
		}
	}
	for _, job := range from.rec {
		if job == nil {
			continue
		}
		for k := range job.Outputs {
			if only != "" && !samePlace(only, job.Outputs[k].Backend) {
				return false
			}
		}
		if at := last(job); at != nil && only != "" && job.Status.Active() && !samePlace(only, at.Backend) {
			return false
		}
	}
	return true
}

// samePlace reports whether two backends see the same files: all local ones
// are this machine.
func samePlace(a, b string) bool {
	return a == b || strings.HasPrefix(a, "local.") && strings.HasPrefix(b, "local.")
}

func (m *maker) haul(hauls map[[2]string]*haul, w, from *work, in *lang.Input, producer int, to string) {
	lies, output, known := m.liesOn(from, producer, in.Output)
	if lies == "" || samePlace(lies, to) || output != nil && copiedTo(output, to) {
		return
	}
	key := [2]string{lies, to}
	h := hauls[key]
	if h == nil {
		h = &haul{t: Transfer{Phase: w.p.Name, Input: in.Name, From: lies, To: to, Output: in.Output, Push: !strings.HasPrefix(to, "local.")}}
		hauls[key] = h
	}
	h.t.Cells = append(h.t.Cells, int32(producer))
	if !known {
		h.t.Files++
		h.unknown = true
		return
	}
	h.t.Files += max(output.Files, 1)
	h.t.Bytes += output.Size
}

// liesOn is where a producer's output lies or will lie, and the recorded
// output where it stands.
func (m *maker) liesOn(from *work, producer int, name string) (backend string, o *state.Output, known bool) {
	job := from.record(producer)
	switch k := from.pp.Kind[producer]; {
	case k.Starts():
		return from.pp.Decision(producer).Backend, nil, false
	case job == nil:
		return "", nil, false
	case job.Status != state.Completed:
		if at := last(job); at != nil {
			return at.Backend, nil, false
		}
		return "", nil, false
	}
	for k := range job.Outputs {
		if job.Outputs[k].Name == name {
			return job.Outputs[k].Backend, &job.Outputs[k], true
		}
	}
	return "", nil, false
}

func copiedTo(o *state.Output, to string) bool {
	for _, c := range o.Copies {
		if samePlace(c.Backend, to) {
			return true
		}
	}
	return false
}
