package apply

import (
	"github.com/muster-run/muster/planner/apply/deletion"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/providers"
)

// newDeletion deletes outputs for this run, under its fence.
func (e *engine) newDeletion() *deletion.Run {
	return &deletion.Run{
		State: e.st, Emit: e.emit, Note: e.report.Note, Now: e.Clock,
		Spot: func(backend, pool string) string {
			if c := e.fleet.Contacts[backend]; c != nil {
				return c.Spot(pool).Name()
			}
			return backend
		},
		Remove: func(name string, files []fleet.File, told func(n int, err error)) bool {
			b := e.fleet.At(providers.CutAt(name))
			if b == nil || b.Provider == nil {
				return false
			}
			e.fleet.Remove(b, name, files, told)
			return true
		},
	}
}
