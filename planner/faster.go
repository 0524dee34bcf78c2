package planner

import (
	"slices"

	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/transfers"
)

// faster lists changes that would end a plan of a forecast sooner.
func (fc *forecaster) faster(f forecast.Forecast) []Faster {
	phases := make([]fasterPhase, len(fc.drafts))
	for i, w := range fc.drafts {
		phases[i] = fasterPhase{Name: w.p.Name, Placements: w.pp.Placements}
		if g := w.pp.Smoke; g != nil {
			phases[i].Smoke = g.Place
		}
	}
	in, _ := fc.assumed()
	return fasterWays(f, in, phases, fc.carriedTo)
}

// carriedTo adds to a forecast's input the files that would move if all jobs of a phase went
// to another candidate.
func (fc *forecaster) carriedTo(in *forecast.Input, phase string, to place.Candidate) {
	c := fc.carrier()
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
	for _, w := range fc.drafts {
		for _, input := range w.p.Inputs {
			if w.starts() {
				rows = append(rows, transfers.Of(fc.filesystems, c.Phase(w.p.Name), c.Phase(input.From.Name), input)...)
			}
		}
	}
	c.Load(in, rows)
}
