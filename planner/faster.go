package planner

import "github.com/muster-run/muster/planner/faster"

// A Faster is one thing that would make the plan end sooner.
type Faster = faster.Way

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
