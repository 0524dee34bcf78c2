package apply

import (
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/rental"
)

// newRental gives machines back for this run.
func (e *engine) newRental() *rental.Run {
	return &rental.Run{
		State: e.st, Emit: e.emit, Note: e.report.Note, Now: e.Clock,
		Running: func(backend string) (n int) {
			for _, f := range e.flights {
				if f.B.Name == backend && f.End == fleet.Stays {
					n++
				}
			}
			return n
		},
		Releases: func(backend string) func(string, func(error)) {
			b := e.fleet.At(backend, "")
			if b == nil {
				return nil
			}
			return func(id string, told func(error)) { e.fleet.Release(b, id, told) }
		},
	}
}
