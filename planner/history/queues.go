package history

import (
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// A PhaseRecords is one phase with its records by cell: nil where there is none, and
// nil as a whole when there are none.
type PhaseRecords struct {
	*lang.Phase
	Records []*state.Job
}

// Queues is the record of a campaign's jobs in queues. It is worked out when asked for, once.
type Queues struct {
	Phases []PhaseRecords // in campaign order
	Smokes map[string]*state.Job
	// Approvals are the applies so far, in order.
	Approvals []state.Approval
	// Rents reports whether a backend's machines are rented for the jobs.
	Rents func(backend string) bool

	waits map[queuePool][]time.Duration // in queues; nil until asked for
	again map[queuePool][]time.Duration // of launches that went on; nil until asked for
	turns map[queuePool]Turn            // nil until asked for
	yes   []time.Time                   // to the last applies; nil until asked for
}

// A queuePool is one of a backend's.
type queuePool struct{ backend, name string }

// records are those of a phase, nil when it is not in the campaign.
func (p *Queues) records(phase string) []*state.Job {
	for i := range p.Phases {
		if p.Phases[i].Name == phase {
			return p.Phases[i].Records
		}
	}
	return nil
}

func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
