package transfers

import (
	"github.com/muster-run/muster/planner/hosts"
	"github.com/muster-run/muster/state"
)

// A lie is where an output was made.
type lie struct{ backend, pool string }

// lieOf is where an output lies: on the host of the last attempt, where that
// was of the same backend.
func lieOf(job *state.Job, o *state.Output) lie {
	if at := job.Last(); at != nil && at.Backend == o.Backend {
		return lie{o.Backend, at.Pool}
	}
	return lie{backend: o.Backend}
}

// Lies is where a producer's output lies or will lie, and the recorded output
// where it stands.
func Lies(spots *hosts.Spots, p *Phase, producer int, output string) (at hosts.Spot, o *state.Output, known bool) {
	if p.Starts(producer) {
		d := p.decision(producer)
		return spots.Of(d.Backend, d.Pool), nil, false
	}
	if p.Records == nil || p.Records[producer] == nil {
		return hosts.Spot{}, nil, false
	}
	job := p.Records[producer]
	if job.Status != state.Completed {
		if at := job.Last(); at != nil {
			return spots.Of(at.Backend, at.Pool), nil, false
		}
		return hosts.Spot{}, nil, false
	}
	for k := range job.Outputs {
		if o := &job.Outputs[k]; o.Name == output {
			l := lieOf(job, o)
			return spots.Of(l.backend, l.pool), o, true
		}
	}
	return hosts.Spot{}, nil, false
}

// Copies are where verified copies of an output lie.
func Copies(spots *hosts.Spots, o *state.Output) []hosts.Spot {
	if o == nil {
		return nil
	}
	out := make([]hosts.Spot, len(o.Copies))
	for i, c := range o.Copies {
		out[i] = spots.Named(c.Backend)
	}
	return out
}
