package planner

import (
	"slices"

	"github.com/muster-run/muster/planner/faster"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/transfers"
)

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
	return faster.Find(m.plan.Forecast, m.forecastInput(), phases, m.carriedTo)
}

// carriedTo has a forecast's input move what would have to move if all jobs of a
// phase went to another candidate.
func (m *maker) carriedTo(in *forecast.Input, phase string, to place.Candidate) {
	c := m.carrier()
	as := c.Phase
	c.Phase = func(name string) *transfers.Phase {
		p := as(name)
		if name == phase {
			p.Placements = slices.Clone(p.Placements)
			for i := range p.Placements {
				if d := &p.Placements[i]; d.Backend != "" {
					d.Backend, d.Pool = to.Backend, to.Pool
				}
			}
		}
		return p
	}
	var rows []Transfer
	for _, w := range m.works {
		for _, input := range w.p.Inputs {
			if w.starts() {
				rows = append(rows, transfers.Of(m.spots, c.Phase(w.p.Name), c.Phase(input.From.Name), input)...)
			}
		}
	}
	c.Load(in, rows)
}
