package plan

import (
	"github.com/muster-run/muster/planner/faster"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/result"
)

// Faster lists what would make the plan end sooner, each tried by itself in
// the simulation, what saves most first. It is worked out when asked for.
func (p *Plan) Faster() []faster.Way {
	if p.live.Faster == nil {
		return nil
	}
	if p.tried == nil {
		list := p.live.Faster()
		p.tried = &list
	}
	return *p.tried
}

// WithFaster gives a plan that was read from a file what was worked out then.
func (p *Plan) WithFaster(list []faster.Way) {
	p.tried, p.live.Faster = &list, func() []faster.Way { return list }
}

// Assumed is what the forecast of a plan was made from: how long each job is
// taken to run, where, and how often it fails. It is empty for a plan that was
// read from a file.
func (p *Plan) Assumed() forecast.Input {
	if p.live.Assumed == nil {
		return forecast.Input{}
	}
	return p.live.Assumed()
}

// InputHashes are, by input, what a job depends on of its producers: their
// result hash, or a hash over them. They are kept with the job's record.
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
	out := make(map[string]string, len(phase.Phase.Inputs))
	for _, in := range phase.Phase.Inputs {
		out[in.Name] = p.live.Hash.Input(in, in.GroupOf(cell)).String()
	}
	return out
}
