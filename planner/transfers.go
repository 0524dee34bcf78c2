package planner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/hosts"
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
	if !w.starts() || m.onePlace(w, from) {
		return
	}
	hauls := map[[2]hosts.Spot]*haul{}
	type need struct {
		group int
		to    hosts.Spot
	}
	to := make([]hosts.Spot, len(w.pp.Placements))
	for i, d := range w.pp.Placements {
		to[i] = m.spots.Of(d.Backend, d.Pool)
	}
	done := map[need]bool{}
	for i, k := range w.pp.Kind {
		if !k.Starts() || int(w.pp.Place[i]) >= len(to) {
			continue
		}
		n := need{in.GroupOf(i), to[w.pp.Place[i]]}
		if n.to.Files == "" || done[n] {
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
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.FromHost, b.FromHost), strings.Compare(a.To, b.To), strings.Compare(a.ToHost, b.ToHost))
	})
	m.plan.Transfers = append(m.plan.Transfers, out...)
}

// starts reports whether a job of the phase starts now.
func (w *work) starts() bool { return slices.ContainsFunc(w.pp.Kind, Kind.Starts) }

// onePlace is the common case: everything on one machine.
func (m *maker) onePlace(w, from *work) bool {
	var only hosts.Spot
	for _, d := range slices.Concat(w.pp.Placements, from.pp.Placements) {
		switch s := m.spots.Of(d.Backend, d.Pool); {
		case s.Files == "":
		case only.Files == "":
			only = s
		case !only.Sees(s):
			return false
		}
	}
	var last lie
	for _, job := range from.rec {
		if job == nil || only.Files == "" {
			continue
		}
		for k := range job.Outputs {
			if at := m.lieOf(job, &job.Outputs[k]); at != last {
				if last = at; !only.Sees(m.spots.Of(at.backend, at.pool)) {
					return false
				}
			}
		}
		if at := job.Last(); at != nil && job.Status.Active() && !only.Sees(m.spots.Of(at.Backend, at.Pool)) {
			return false
		}
	}
	return true
}

// A lie is where an output was made.
type lie struct{ backend, pool string }

// lieOf is where an output lies: on the host of the last attempt, where that
// was of the same backend.
func (m *maker) lieOf(job *state.Job, o *state.Output) lie {
	if at := job.Last(); at != nil && at.Backend == o.Backend {
		return lie{o.Backend, at.Pool}
	}
	return lie{backend: o.Backend}
}

func (m *maker) haul(hauls map[[2]hosts.Spot]*haul, w, from *work, in *lang.Input, producer int, to hosts.Spot) {
	lies, output, known := m.liesOn(from, producer, in.Output)
	if lies.Files == "" || lies.Sees(to) || output != nil && m.copiedTo(output, to) {
		return
	}
	key := [2]hosts.Spot{lies, to}
	h := hauls[key]
	if h == nil {
		h = &haul{t: Transfer{Phase: w.p.Name, Input: in.Name, From: lies.Backend, FromHost: lies.Pool, To: to.Backend, ToHost: to.Pool,
			Output: in.Output, Push: !strings.HasPrefix(to.Backend, "local.")}}
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
func (m *maker) liesOn(from *work, producer int, name string) (at hosts.Spot, o *state.Output, known bool) {
	job := from.record(producer)
	switch k := from.pp.Kind[producer]; {
	case k.Starts():
		d := from.pp.Decision(producer)
		return m.spots.Of(d.Backend, d.Pool), nil, false
	case job == nil:
		return hosts.Spot{}, nil, false
	case job.Status != state.Completed:
		if at := job.Last(); at != nil {
			return m.spots.Of(at.Backend, at.Pool), nil, false
		}
		return hosts.Spot{}, nil, false
	}
	for k := range job.Outputs {
		if o := &job.Outputs[k]; o.Name == name {
			l := m.lieOf(job, o)
			return m.spots.Of(l.backend, l.pool), o, true
		}
	}
	return hosts.Spot{}, nil, false
}

// copiesOf are where verified copies of an output lie.
func (m *maker) copiesOf(o *state.Output) []hosts.Spot {
	if o == nil {
		return nil
	}
	out := make([]hosts.Spot, len(o.Copies))
	for i, c := range o.Copies {
		out[i] = m.spots.Named(c.Backend)
	}
	return out
}

func (m *maker) copiedTo(o *state.Output, to hosts.Spot) bool {
	for _, c := range o.Copies {
		if to.Sees(m.spots.Named(c.Backend)) {
			return true
		}
	}
	return false
}

// Ends are the two places of a transfer as they are shown.
func (t Transfer) Ends() (from, to string) {
	return hosts.Spot{Backend: t.From, Pool: t.FromHost}.Name(), hosts.Spot{Backend: t.To, Pool: t.ToHost}.Name()
}
