package apply

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers"
)

// A job that may go on with some producers of an input does so when all of them have
// ended. Its hash, and that of every job after it, is known only then: it covers the
// job's inputs.

// partial reports whether jobs of a phase may go on with some producers of an input.
func (p *phase) partial() bool { return slices.ContainsFunc(p.Inputs, (*lang.Input).Partial) }

// loadPartial notes the cells of a phase whose hash follows from how producers end.
func (se *settler) loadPartial(p *phase) {
	if !p.partial() {
		return
	}
	for c := range int32(len(p.At)) {
		if k := p.plan.Does(c); k.Starts() || k == planner.Blocked {
			p.unsettle(c)
		}
	}
}

// left reports of each producer whether the readers of an input go on without it.
func (js *jobs) left() func(in *lang.Input, producer int) bool {
	edges := map[*lang.Input]*edge{}
	for _, p := range js.phases {
		for _, ed := range p.inputs {
			edges[ed.In] = ed
		}
	}
	return func(in *lang.Input, producer int) bool { return edges[in] != nil && edges[in].Out(producer) }
}

// goOn makes the cells ready that go on without producers that gave up.
func (sc *schedule) goOn() bool {
	if sc.Plan.Destroy || sc.Stopped() {
		return false
	}
	return cells.GoOn(sc.nodes, func(n *cells.Vertex, c int32) bool {
		p := sc.phases[n.Ord]
		switch n.At[c] {
		case cells.Altered, cells.Changed, cells.Failed, cells.Cancelled:
			return true
		case cells.Held:
			return observed.GaveUp(sc.st.Jobs[p.Address(int(c))])
		}
		return false
	}, func(to *cells.Vertex, c int32) { sc.makeReady(sc.phases[to.Ord], c) })
}

// outdated finds, at the end, the jobs that are done and went on without producers that
// this run completed. The next plan runs them again.
func (se *settler) outdated() {
	for _, p := range se.phases {
		if !p.partial() {
			continue
		}
		for c, s := range p.At {
			if s != cells.Done {
				continue
			}
			if late := se.late(p, int32(c)); late != "" {
				p.Set(int32(c), cells.Changed)
				address := p.Address(c)
				se.Note(address, fmt.Sprintf("%s ran without %s, which is done now. Run muster plan", address, late), true)
			}
		}
	}
}

// late is the first completed producer that the record of a cell went on without.
func (se *settler) late(p *phase, cell int32) string {
	rec := se.st.Jobs[p.Address(int(cell))]
	for _, ed := range p.inputs {
		if len(planner.MissingKeys(rec, ed.In.Name)) == 0 {
			continue
		}
		missing := planner.Without(rec)
		for _, m := range ed.In.Members(ed.In.GroupOf(int(cell))) {
			if ed.from.At[m].Satisfied() && missing(ed.In, m) {
				return ed.from.Address(m)
			}
		}
	}
	return ""
}

// missing are the keys of the producers that a cell goes on without, by input.
func (p *phase) missing(cell int32) map[string][]string {
	var out map[string][]string
	for _, ed := range p.inputs {
		for _, m := range ed.In.Members(ed.In.GroupOf(int(cell))) {
			if !ed.Out(m) {
				continue
			}
			if out == nil {
				out = map[string][]string{}
			}
			out[ed.In.Name] = append(out[ed.In.Name], ed.from.Key(m))
		}
	}
	return out
}

// tellMissing names to a job the producers that it goes on without.
func tellMissing(p *phase, cell int32, job *providers.Job) {
	missing := p.missing(cell)
	for i := range job.Inputs {
		job.Inputs[i].Missing = missing[job.Inputs[i].Name]
	}
}
