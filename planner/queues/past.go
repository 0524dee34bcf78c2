// Package queues tells from what a campaign's own jobs went through how long
// queues take: to a first start, from one job to the next in its place, and from
// a person's yes to the first hand-over.
package queues

import (
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// A Phase is one phase with its records by cell: nil where there is none, and
// nil as a whole when there are none.
type Phase struct {
	*lang.Phase
	Records []*state.Job
}

// Past is what became of a campaign's jobs. What it tells is worked out when
// asked for, once.
type Past struct {
	Phases []Phase // in campaign order
	Smokes map[string]*state.Job
	// Approvals are the applies so far, in order.
	Approvals []state.Approval
	// Rents reports whether a backend's machines are rented for the jobs.
	Rents func(backend string) bool

	waits map[pool][]time.Duration // in queues; nil until asked for
	again map[pool][]time.Duration // of launches that went on; nil until asked for
	turns map[pool]Turn            // nil until asked for
	yes   []time.Time              // to the last applies; nil until asked for
}

// A pool is one of a backend's.
type pool struct{ backend, name string }

// records are those of a phase, nil when it is not in the campaign.
func (p *Past) records(phase string) []*state.Job {
	for i := range p.Phases {
		if p.Phases[i].Name == phase {
			return p.Phases[i].Records
		}
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
