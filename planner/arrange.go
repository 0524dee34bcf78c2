package planner

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/plan"
	"github.com/muster-run/muster/state"
)

// mostRequests is how many different requests a phase may hold: placements are
// two bytes a cell.
const mostRequests = 1<<16 - 2

// arrange places what starts, opens or shuts gates, blocks what waits for
// something held, and forecasts. Whether work is urgent follows from the
// forecast and decides placements, so an urgent plan is arranged twice.
func (m *maker) arrange() {
	for _, w := range m.works {
		w.first = slices.Clone(w.pp.Kind)
	}
	diags := m.diags
	m.plan.Keep(plan.Live{Hash: m.hash, Faster: m.faster, Assumed: m.forecastInput, Today: m.today})
	m.overflows = !m.hasDeadline()
	m.arrangeOnce()
	if !m.overflows && m.late() {
		m.overflows = true
		m.arrangeAnew(diags)
	}
	if m.pressed() {
		m.urgent = true
		m.arrangeAnew(diags)
	}
}

// arrangeAnew takes an arrangement back, with what it said, and makes another.
func (m *maker) arrangeAnew(diags diag.List) {
	m.diags = slices.Clip(diags)
	m.plan.Transfers, m.moves, m.paid, m.spills = nil, nil, nil, nil
	for _, w := range m.works {
		copy(w.pp.Kind, w.first)
		for _, i := range w.gated {
			w.restore(i)
		}
		w.gated, w.pp.Hold, w.pp.Smoke, w.pp.Pilot, w.pp.Placements = nil, "", nil, nil, nil
		clear(w.pp.Place)
	}
	m.arrangeOnce()
}

func (m *maker) arrangeOnce() {
	m.load = nil
	for _, w := range m.works {
		m.block(w)
		m.placePhase(w)
		m.gate(w)
		m.pilot(w)
	}
	m.transfers()
	m.plan.Forecast = forecast.Make(m.forecastInput())
}

func (m *maker) hasDeadline() bool {
	return slices.ContainsFunc(m.in.Campaign.Budgets, func(b lang.Budget) bool { return !b.Deadline.IsZero() })
}

// late reports whether the p90 end comes after a deadline.
func (m *maker) late() bool {
	end := m.in.Now.Add(m.plan.Forecast.Walltime.P90)
	return slices.ContainsFunc(m.in.Campaign.Budgets, func(b lang.Budget) bool { return !b.Deadline.IsZero() && end.After(b.Deadline) })
}

// pressed reports whether the p90 end comes too near to a deadline.
func (m *maker) pressed() bool {
	within := m.in.Campaign.Policy.UrgentWithin
	end := m.in.Now.Add(m.plan.Forecast.Walltime.P90)
	for _, b := range m.in.Campaign.Budgets {
		if !b.Deadline.IsZero() && within > 0 && b.Deadline.Sub(end) < within && m.plan.Forecast.Walltime.P90 > 0 {
			return true
		}
	}
	return false
}

// stop turns the starting cells of a phase to another kind and remembers how
// to undo it.
func (w *work) stop(i int, kind Kind, d Detail) {
	w.pp.Kind[i] = kind
	if len(w.gated) >= mostDetails {
		return
	}
	w.gated = append(w.gated, i)
	if old, ok := w.pp.Details[i]; ok {
		if w.before == nil {
			w.before = map[int]Detail{}
		}
		if _, kept := w.before[i]; !kept {
			w.before[i] = old
		}
		d.State, d.Reasons, d.From, d.Computed = old.State, old.Reasons, old.From, old.Computed
	}
	w.pp.Details[i] = d
}

func (w *work) restore(i int) {
	if old, ok := w.before[i]; ok {
		w.pp.Details[i] = old
	} else {
		delete(w.pp.Details, i)
	}
}

// placePhase groups the starting cells by request and asks where they go.
func (m *maker) placePhase(w *work) {
	reqs := w.reqs
	if len(reqs) > mostRequests {
		m.diags.Append(diag.Diagnostic{Summary: "a phase asks for too many different things", Address: "phase." + w.p.Name, Subject: w.p.Range.Ptr(),
			Detail: fmt.Sprintf("Its jobs have %d different resource requests; at most %d can be placed. Let resources depend on fewer axis values.", len(reqs), mostRequests)})
		return
	}
	jobs := make([]int, len(reqs))
	for i, k := range w.pp.Kind {
		if k.Starts() || k == Blocked {
			r := w.p.RequestOf(i, lang.Run)
			w.pp.Place[i] = uint16(r + 1)
			jobs[r]++
		}
	}
	var groups []place.Group
	var of []int
	for r, n := range jobs {
		if n > 0 {
			g := m.placeGroup(w, reqs[r], n)
			g.Expected = m.evidence(w).Runtime(g.Shape.Walltime).Expected
			groups = append(groups, g)
			of = append(of, r)
		}
	}
	w.pp.Placements = make([]place.Decision, len(reqs)+1)
	w.jobs = jobs
	if len(groups) == 0 {
		return
	}
	decisions, diags := place.Decide(m.placeInput(groups))
	m.diags.Append(diags...)
	for k, d := range decisions {
		w.pp.Placements[of[k]+1] = d
		w.nowhere = w.nowhere || d.Backend == "" && d.Away == ""
	}
	m.await(w)
	m.overflow(w, jobs)
	m.spread(w, jobs)
}

func (m *maker) placeGroup(w *work, r lang.Request, n int) place.Group {
	return place.Group{
		Phase: w.p, Jobs: n, Shape: r.Shape, Options: r.Options, Candidates: w.p.Candidates, Prefer: w.p.Prefer,
		Checkpoint: w.p.Checkpoint != nil,
	}
}

func (m *maker) placeInput(groups []place.Group) place.Input {
	return place.Input{
		Groups: groups, Backends: m.in.Campaign.Backends, Pools: m.in.Pools, Quotes: m.in.Quotes, Policy: m.in.Campaign.Policy,
		Unreachable: m.in.Observed.Unreachable, Unasked: m.in.Observed.Unasked, Begun: m.in.State != nil && len(m.in.State.Jobs) > 0, Urgent: m.urgent, Can: m.in.Can, Now: m.in.Now, Waited: m.queues().Waited, Risen: m.rises(),
	}
}

// WouldGo is where a job that does not start in a plan would go if it were run
// now, among other backends than its phase's candidates where some are named. It
// is expected to take as long as the jobs of its phase did.
func WouldGo(in Input, pp *PhasePlan, cell int, among ...string) place.Decision {
	m, w := &maker{in: in, st: in.State}, &work{p: pp.Phase, pp: pp, rec: pp.Records}
	if m.st == nil {
		m.st = &state.State{}
	}
	g := m.placeGroup(w, requestOf(w.p, cell), 1)
	g.Expected = m.evidence(w).Runtime(g.Shape.Walltime).Expected
	if len(among) > 0 {
		g.Candidates = among
	}
	d, _ := place.Decide(m.placeInput([]place.Group{g}))
	return d[0]
}

// requestOf is a cell's request as a run.
func requestOf(p *lang.Phase, cell int) lang.Request {
	return p.Requests(lang.Run)[p.RequestOf(cell, lang.Run)]
}
