package planner

import (
	"strings"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
)

// forecastInput lays out what will run, for the forecast: 2 bytes a cell.
func (m *maker) forecastInput() forecast.Input {
	c := m.in.Campaign
	in := forecast.Input{Pools: m.in.Pools, CampaignCap: c.MaxParallel, BackendCaps: map[string]int{}, Scopes: scopes(c.Budgets)}
	for _, b := range c.Backends {
		in.BackendCaps[b.Address()] = b.MaxParallel
	}
	for _, w := range m.works {
		in.Phases = append(in.Phases, m.forecastPhase(w))
	}
	return in
}

func (m *maker) forecastPhase(w *work) forecast.Phase {
	out := forecast.NewPhase(w.p)
	out.Of, out.Pilot = make([]uint16, len(w.pp.Kind)), w.pp.Pilot
	ev := m.evidence(w)
	out.Groups = make([]forecast.Group, len(w.pp.Placements))
	for i, d := range w.pp.Placements {
		if d.Backend != "" {
			out.Groups[i] = m.forecastGroup(w, ev, d)
		}
	}
	if len(out.Groups) == 0 {
		out.Groups = make([]forecast.Group, 1)
	}
	flights := map[flight]uint16{}
	for i, k := range w.pp.Kind {
		switch {
		case k.Starts():
			if w.pp.Decision(i).Backend != "" {
				out.Of[i] = w.pp.Place[i]
			} else {
				out.Of[i] = forecast.Never
			}
		case stuck(k):
			out.Of[i] = forecast.Never
		case k == Continue || k == UnknownAt || k == Adopt || k == Duplicate:
			out.Of[i] = m.inFlight(w, ev, i, &out.Groups, flights)
		}
	}
	if model, ok := m.fit(w); ok {
		model.spread(w, &out)
	}
	if g := w.pp.Smoke; g != nil && w.pp.Hold == "" && len(g.Run) > 0 && g.Place.Backend != "" {
		out.Smoke, out.Parallel = g.Run, w.p.Smoke.Parallel
		out.SmokeJob = forecast.Group{Decision: g.Place, Dearest: dearest(g.Place), Launches: 1, Runtime: forecast.Declared(g.Place.Shape.Walltime)}
	}
	return out
}

func (m *maker) forecastGroup(w *work, ev evidence, d place.Decision) forecast.Group {
	ceiling := d
	if dear := dearest(d); dear.Backend != "" {
		ceiling = dear
	}
	return forecast.Group{
		Decision: d, Dearest: dearest(d), Runtime: ev.runtime(d.Shape.Walltime), Shapes: launches(ceiling, w.p.Retry, m.in.Pools),
		Launches: attempts(w.p), Failing: ev.failing, Delay: w.p.Retry.Delay,
	}
}

// A flight is what running jobs that are alike share: where, what, and how
// long already, in twentieths of the walltime, so that groups stay few.
type flight struct {
	backend, pool string
	request       int
	step          int
}

// inFlight is the group of a job that runs already. It counts at its ceiling.
func (m *maker) inFlight(w *work, ev evidence, i int, groups *[]forecast.Group, flights map[flight]uint16) uint16 {
	job := w.record(i)
	at := last(job)
	if at == nil {
		return 0
	}
	r := w.p.RequestOf(i, lang.Run)
	limit := w.reqs[r].Shape.Walltime
	started := at.Started
	if o, ok := m.observation(job); ok && !o.Started.IsZero() {
		started = o.Started
	}
	f := flight{backend: at.Backend, pool: at.Pool, request: r}
	step := limit / 20
	if !started.IsZero() && step > 0 {
		f.step = int(min(max(m.in.Now.Sub(started), 0), limit) / step)
	}
	if g, ok := flights[f]; ok {
		return g
	}
	if len(*groups) >= forecast.Never-1 {
		return uint16(len(*groups) - 1)
	}
	d := place.Decision{Backend: at.Backend, Pool: at.Pool, Shape: w.reqs[r].Shape, Segments: 1}
	for _, p := range m.in.Pools {
		if p.Backend == at.Backend && p.Name == at.Pool {
			d.Price, d.WholeNode = p.Price, p.WholeNode
		}
	}
	g := m.forecastGroup(w, ev, d)
	g.Running, g.InFlight = time.Duration(f.step)*step, true
	flights[f] = uint16(len(*groups))
	*groups = append(*groups, g)
	return flights[f]
}

// groupJobs counts what starts by placement; a blocked job costs nothing yet.
func (w *work) groupJobs() []int {
	out := make([]int, len(w.pp.Placements))
	for i, k := range w.pp.Kind {
		if at := int(w.pp.Place[i]); k.Starts() && at < len(out) {
			out[at]++
		}
	}
	return out
}

// attempts is the most launches of one job.
func attempts(p *lang.Phase) int { return max(p.Retry.MaxAttempts, 1) }

// scopes are the sets of jobs that budgets count.
func scopes(budgets []lang.Budget) []forecast.Scope {
	var out []forecast.Scope
	for _, b := range budgets {
		s := forecast.Scope{Name: b.Name, Phases: map[string]bool{}, Backends: map[string]bool{}}
		for _, a := range b.AppliesTo {
			if name, ok := strings.CutPrefix(a, "phase."); ok {
				s.Phases[name] = true
			} else if name, ok := strings.CutPrefix(a, "backend."); ok {
				s.Backends[name] = true
			}
		}
		out = append(out, s)
	}
	return out
}
