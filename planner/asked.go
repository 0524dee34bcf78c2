package planner

import (
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/result"
)

// Faster lists changes that would end the plan sooner, each tried by itself in the simulation,
// the largest saving first. It is worked out when asked for.
func (p *Plan) Faster() []Faster {
	if p.live.Faster == nil {
		return nil
	}
	if p.tried == nil {
		list := p.live.Faster()
		p.tried = &list
	}
	return *p.tried
}

// WithFaster gives a plan that was read from a file its saved list.
func (p *Plan) WithFaster(list []Faster) {
	p.tried, p.live.Faster = &list, func() []Faster { return list }
}

// Assumed is the input of a plan's forecast: how long and where each job is
// expected to run, and how often it fails. It is empty for a plan that was
// read from a file.
func (p *Plan) Assumed() forecast.Input {
	if p.live.Assumed == nil {
		return forecast.Input{}
	}
	return p.live.Assumed()
}

// InputHashes are, by input, the hashes of the producers on which a job
// depends: their result hash, or a hash over them. They are kept with the
// job's record.
func (p *Plan) InputHashes(phase *PhasePlan, cell int) map[string]string {
	if len(phase.Phase.Inputs) == 0 {
		return nil
	}
	if p.live.Hash == nil { // read from a file
		p.live.Hash = result.New(result.Scheme, nil)
		for _, pp := range p.Phases {
			p.live.Hash.Known(pp.Phase, pp.Result)
		}
	}
	return inputHashes(p.live.Hash, phase.Phase, cell)
}
