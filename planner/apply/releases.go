package apply

import (
	"fmt"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/state"
)

// releases give rented machines back that a plan lists, if that destroys nothing:
// the plan may be old.
type releases struct {
	*jobs
	places releaser
}

// A releaser is the backends of a run; see backends.Set.
type releaser interface {
	Reaches(backend string) bool
	Release(backend, id string, told func(error))
}

// giveBack gives the machine of a row back. An answer that does not come, or says
// that the machine is there still, leaves it as one that is billed; nothing is sent
// twice in one run.
func (rl *releases) giveBack(row *planner.Row) {
	was, known := rl.st.Rentals[row.Address]
	if known && !was.Rented() {
		return
	}
	note := func(text string) {
		rl.Note("backend."+row.Backend, fmt.Sprintf("%s on backend.%s %s", row.Address, row.Backend, text), true)
	}
	if why := rl.needed(row.Backend); why != "" {
		note("is kept: " + why)
		return
	}
	if !rl.places.Reaches(row.Backend) {
		note("was not released, and is billed: nothing reaches that backend")
		return
	}
	becomes := func(status state.RentalStatus) {
		rl.Emit(state.Rented{Rental: state.Rental{ID: row.Address, Backend: row.Backend, Status: status, Since: rl.Clock(), PerHour: row.PerHour}})
	}
	if was.Status != state.RentalDeleting { // before it is sent: it may be gone, and we with it
		becomes(state.RentalDeleting)
	}
	rl.places.Release(row.Backend, row.Address, func(err error) {
		if err != nil {
			note(fmt.Sprintf("was not released, and is billed: %v", err))
			return
		}
		becomes(state.RentalReleased)
	})
}

// needed is why the machines of a backend cannot be given back now, "" when they
// can.
func (rl *releases) needed(backend string) string {
	if n := rl.running(backend); n > 0 {
		return amount.Jobs(n) + " may run there"
	}
	unsafe := 0
	for _, j := range rl.st.All() {
		unsafe += j.OnlyOn(backend)
	}
	if unsafe > 0 {
		return units.Count(unsafe, "output") + " there without a verified copy elsewhere; `muster pull` makes one"
	}
	return ""
}

// running counts the jobs that may run on a backend.
func (rl *releases) running(backend string) (n int) {
	for _, f := range rl.attempts {
		if f.B.Name == backend && f.End == backends.Stays {
			n++
		}
	}
	return n
}
