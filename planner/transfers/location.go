package transfers

import (
	"github.com/muster-run/muster/state"
)

// A location is where an output was made.
type location struct{ backend, pool string }

// locationOf is where an output is: on the host of the last attempt, where that
// was of the same backend.
func locationOf(job *state.Job, o *state.Output) location {
	if at := job.Last(); at != nil && at.Backend == o.Backend {
		return location{o.Backend, at.Pool}
	}
	return location{backend: o.Backend}
}

// Location is where a producer's output is or will be, and the recorded output
// if it is there.
func Location(filesystems *Filesystems, p *Phase, producer int, output string) (at Filesystem, o *state.Output, known bool) {
	if p.Starts(producer) {
		d := p.decision(producer)
		return filesystems.Of(d.Backend, d.Pool), nil, false
	}
	if p.Records == nil || p.Records[producer] == nil {
		return Filesystem{}, nil, false
	}
	job := p.Records[producer]
	if job.Status != state.Completed {
		if at := job.Last(); at != nil {
			return filesystems.Of(at.Backend, at.Pool), nil, false
		}
		return Filesystem{}, nil, false
	}
	for k := range job.Outputs {
		if o := &job.Outputs[k]; o.Name == output {
			l := locationOf(job, o)
			return filesystems.Of(l.backend, l.pool), o, true
		}
	}
	return Filesystem{}, nil, false
}

// Copies are where verified copies of an output are.
func Copies(filesystems *Filesystems, o *state.Output) []Filesystem {
	if o == nil {
		return nil
	}
	out := make([]Filesystem, len(o.Copies))
	for i, c := range o.Copies {
		out[i] = filesystems.Named(c.Backend)
	}
	return out
}
