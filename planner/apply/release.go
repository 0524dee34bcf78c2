package apply

import (
	"fmt"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/state"
)

// Statuses of a rental that is given back. It is billed until its provider says
// that it is gone.
const (
	deleting = "deleting"
	released = "released"
)

// releaseRental gives a machine back, if that still destroys nothing: the plan
// may be of yesterday. An answer that does not come, or says that the machine is
// there still, leaves it as one that is billed; nothing is sent twice in one run.
func (e *engine) releaseRental(r *planner.Row) {
	b := e.fleet.At(r.Backend, "")
	if b == nil {
		return
	}
	note := func(text string) { e.report.Note("backend."+b.Name, text, true) }
	rental, known := e.st.Rentals[r.Address]
	switch why := e.needed(b.Name); {
	case known && rental.Status == released:
		return
	case why != "":
		note(fmt.Sprintf("%s on backend.%s is kept: %s", r.Address, b.Name, why))
		return
	}
	if rental.Status != deleting {
		e.emit(state.Rented{Rental: state.Rental{ID: r.Address, Backend: b.Name, Status: deleting, Since: e.Clock(), PerHour: r.PerHour}})
	}
	e.fleet.Release(b, r.Address, func(err error) {
		if err != nil {
			note(fmt.Sprintf("%s on backend.%s was not released, and is billed: %v", r.Address, b.Name, err))
			return
		}
		e.emit(state.Rented{Rental: state.Rental{ID: r.Address, Backend: b.Name, Status: released, Since: e.Clock(), PerHour: r.PerHour}})
	})
}

// needed is why the machines of a backend cannot be given back now, "" when
// they can.
func (e *engine) needed(backend string) string {
	running, unsafe := 0, 0
	for _, f := range e.flights {
		if f.B.Name == backend && f.End == fleet.Stays {
			running++
		}
	}
	for _, j := range e.st.All() {
		unsafe += j.OnlyOn(backend)
	}
	switch {
	case running > 0:
		return amount.Jobs(running) + " may run there"
	case unsafe > 0:
		return fmt.Sprintf("%d outputs there have no verified copy elsewhere; `muster pull` makes one", unsafe)
	}
	return ""
}
