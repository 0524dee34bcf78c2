// Package rental gives machines back that were rented for a campaign, as a plan
// lists them, where that destroys nothing: the plan may be of yesterday. It is
// told how a machine is released, and knows nothing of backends.
package rental

import (
	"fmt"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/state"
)

// A Run is what giving back needs of the run that it works for. All of it is
// called in the loop.
type Run struct {
	State *state.State // read alone; what changes goes through Emit
	Emit  func(state.Event)
	Note  func(address, text string, bad bool)
	Now   func() time.Time
	// Running counts the jobs that may run on a backend.
	Running func(backend string) int
	// Releases is how a backend releases a machine, and tells why it did not, nil if
	// it did; nil where nothing reaches the backend.
	Releases func(backend string) func(id string, told func(error))
}

// GiveBack gives the machine of a row back. An answer that does not come, or says
// that the machine is there still, leaves it as one that is billed; nothing is sent
// twice in one run.
func (r *Run) GiveBack(row *planner.Row) {
	was, known := r.State.Rentals[row.Address]
	if known && !was.Rented() {
		return
	}
	note := func(text string) {
		r.Note("backend."+row.Backend, fmt.Sprintf("%s on backend.%s %s", row.Address, row.Backend, text), true)
	}
	if why := r.needed(row.Backend); why != "" {
		note("is kept: " + why)
		return
	}
	release := r.Releases(row.Backend)
	if release == nil {
		note("was not released, and is billed: nothing reaches that backend")
		return
	}
	becomes := func(status state.RentalStatus) {
		r.Emit(state.Rented{Rental: state.Rental{ID: row.Address, Backend: row.Backend, Status: status, Since: r.Now(), PerHour: row.PerHour}})
	}
	if was.Status != state.RentalDeleting { // before it is sent: it may be gone, and we with it
		becomes(state.RentalDeleting)
	}
	release(row.Address, func(err error) {
		if err != nil {
			note(fmt.Sprintf("was not released, and is billed: %v", err))
			return
		}
		becomes(state.RentalReleased)
	})
}

// needed is why the machines of a backend cannot be given back now, "" when they
// can.
func (r *Run) needed(backend string) string {
	if n := r.Running(backend); n > 0 {
		return amount.Jobs(n) + " may run there"
	}
	unsafe := 0
	for _, j := range r.State.All() {
		unsafe += j.OnlyOn(backend)
	}
	if unsafe > 0 {
		return units.Count(unsafe, "output") + " there without a verified copy elsewhere; `muster pull` makes one"
	}
	return ""
}
