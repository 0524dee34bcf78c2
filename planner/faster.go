package planner

import "github.com/muster-run/muster/planner/faster"

// A Faster is one thing that would make the plan end sooner.
type Faster = faster.Way

// Faster lists what would make the plan end sooner, each tried by itself in
// the simulation, what saves most first. It is worked out when asked for.
func (p *Plan) Faster() []Faster {
	if p.faster == nil {
		return nil
	}
	if p.tried == nil {
		list := p.faster()
		p.tried = &list
	}
	return *p.tried
}

// WithFaster gives a plan that was read from a file what was worked out then.
func (p *Plan) WithFaster(list []Faster) { p.tried, p.faster = &list, func() []Faster { return list } }

func (m *maker) faster() []Faster {
	phases := make([]faster.Phase, len(m.works))
	for i, w := range m.works {
		phases[i] = faster.Phase{Name: w.p.Name, Placements: w.pp.Placements}
		if g := w.pp.Smoke; g != nil {
			phases[i].Smoke = g.Place
		}
	}
	return faster.Find(m.plan.Forecast, m.forecastInput(), phases)
}
