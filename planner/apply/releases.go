package apply

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// releases give rented machines back that a plan lists, if that destroys nothing:
// the plan may be old.
type releases struct {
	*jobs
	places  releaser
	waiting []*planner.Row            // until jobs that are being cancelled have ended
	leavers map[string][]*planner.Row // rows of machines whose release is to be asked for, by backend
	leaving map[string]string         // backends of machines whose release was asked for in this run, by id
	since   time.Time                 // when the last of them was asked for
	next    time.Time                 // when their providers are asked whether they are gone
	asking  int
	gone    []string // backends that gave machines back in this run
	asked   bool     // machines rented when the run ends
}

// A releaser is the backends of a run; see backends.Set.
type releaser interface {
	Reaches(backend string) bool
	KeepsFiles(backend string) bool
	Release(backend string, ids []string, told func(id string, err error))
	Rentals(backend string, told func([]offer.Rental, error))
}

const (
	goneEvery = 15 * time.Second // between two questions whether a machine is gone
	goneMost  = 15 * time.Minute // goneMost bounds the wait for that; the next plan lists the machines that remain
)

// giveBack has the machine of a row given back. An answer that does not come, or says
// that the machine is there still, leaves it as one that is billed; nothing is sent
// twice in one run.
func (rl *releases) giveBack(row *planner.Row) {
	was, known := rl.st.Rentals[row.Address]
	if known && !was.Rented() {
		return
	}
	// A job that waits there would rent another machine. A destroy starts nothing: jobs that
	// may run there are being looked up or ended.
	if rl.cancelling(row.Backend) || rl.Plan.Destroy && !row.Orphan && !rl.asked && rl.running(row.Backend) > 0 {
		rl.waiting = append(rl.waiting, row)
		return
	}
	note := func(text string) {
		rl.Note("backend."+row.Backend, fmt.Sprintf("%s on backend.%s %s", row.Address, row.Backend, text), true)
	}
	if why := rl.needed(row.Backend); !row.Orphan && why != "" { // no job of the state is on an orphan
		note("is kept: " + why)
		return
	}
	if !rl.places.Reaches(row.Backend) {
		note("was not released, and is billed: nothing reaches that backend")
		return
	}
	if was.Status != state.RentalDeleting { // before it is sent: it may be gone, and we with it
		rl.becomes(row.Address, row.Backend, state.RentalDeleting, row.PerHour)
	}
	if row.PerHour != "" {
		rl.Note("backend."+row.Backend, fmt.Sprintf("%s on backend.%s is being released: it is billed, at %s, until its provider says that it is gone", row.Address, row.Backend, amount.Hourly(row.PerHour)), false)
	}
	if rl.leavers == nil {
		rl.leavers = map[string][]*planner.Row{}
	}
	rl.leavers[row.Backend] = append(rl.leavers[row.Backend], row)
}

// send asks each backend for its releases, all at once: a machine is billed while those
// before it end.
func (rl *releases) send() {
	for _, backend := range slices.Sorted(maps.Keys(rl.leavers)) {
		var ids []string
		prices := map[string]string{}
		for _, row := range rl.leavers[backend] {
			ids, prices[row.Address] = append(ids, row.Address), row.PerHour
		}
		rl.places.Release(backend, ids, func(id string, err error) {
			if err != nil {
				rl.Note("backend."+backend, fmt.Sprintf("%s on backend.%s was not released, and is billed: %v", id, backend, err), true)
				rl.await(id, backend)
				return
			}
			rl.becomes(id, backend, state.RentalReleased, prices[id])
			rl.gone = append(rl.gone, backend)
		})
	}
	rl.leavers = nil
}

// becomes records a new status of a machine.
func (rl *releases) becomes(id, backend string, status state.RentalStatus, perHour string) {
	m := rl.st.Rentals[id]
	m.ID, m.Backend, m.Status, m.Since, m.PerHour = id, backend, status, rl.Clock(), perHour
	rl.Emit(state.Rented{Rental: m})
}

// await has a run wait until a machine is gone: it is billed until then. The release is
// not sent again.
func (rl *releases) await(id, backend string) {
	if rl.leaving == nil {
		rl.leaving = map[string]string{}
	}
	rl.leaving[id] = backend
	rl.since = rl.Clock()
	rl.next = rl.since.Add(goneEvery)
}

// look sends the releases of this turn. From time to time it asks providers whether the
// machines that they were to release are gone.
func (rl *releases) look() {
	waiting := rl.waiting
	rl.waiting = nil
	for _, row := range waiting {
		rl.giveBack(row)
	}
	rl.send()
	now := rl.Clock()
	if len(rl.leaving) == 0 || rl.Mode != Drive || rl.Stopped() || now.Sub(rl.since) > goneMost {
		return
	}
	if rl.asking == 0 && !now.Before(rl.next) {
		rl.next = now.Add(goneEvery)
		for _, backend := range slices.Compact(slices.Sorted(maps.Values(rl.leaving))) {
			rl.asking++
			rl.places.Rentals(backend, func(list []offer.Rental, err error) {
				rl.asking--
				if err == nil {
					rl.seen(backend, list)
				}
			})
		}
	}
	rl.wakeAt(rl.next)
}

// askLast asks, once, for the machines that are still rented when a run ends; it reports
// whether a backend was asked.
func (rl *releases) askLast() bool {
	if rl.asked {
		return false
	}
	rl.asked = true
	rl.look() // machines that still wait for their jobs are kept, and reported
	rented := map[string]bool{}
	for _, backend := range rl.gone { // their ends, and their cost
		rented[backend] = true
	}
	for _, r := range rl.st.Rentals {
		if r.Rented() && rl.places.Reaches(r.Backend) {
			rented[r.Backend] = true
		}
	}
	for _, backend := range slices.Sorted(maps.Keys(rented)) {
		rl.places.Rentals(backend, func(list []offer.Rental, err error) {
			for _, m := range list {
				was, known := rl.st.Rentals[m.ID]
				if said := known && !was.Rented() && m.Status != offer.RentalReleased; err == nil && (known || !m.Orphan) && !said { // a moment ago, that it is gone
					rl.machine(backend, &m)
				}
			}
		})
	}
	return len(rented) > 0
}

// seen records which machines that were to leave are gone: those of which their provider
// says so, and those that its whole list does not have any more.
func (rl *releases) seen(backend string, list []offer.Rental) {
	for _, id := range slices.Sorted(maps.Keys(rl.leaving)) {
		i := slices.IndexFunc(list, func(m offer.Rental) bool { return m.ID == id })
		if rl.leaving[id] != backend || i >= 0 && list[i].Status != offer.RentalReleased {
			continue
		}
		delete(rl.leaving, id)
		gone := offer.Rental{ID: id, Status: offer.RentalReleased}
		if i >= 0 {
			gone = list[i]
		}
		rl.machine(backend, &gone)
		rl.Note("backend."+backend, fmt.Sprintf("%s on backend.%s is gone, and no longer billed", id, backend), false)
	}
}

// machine records a provider's report of a machine that it rents, nil for none. A machine
// that is gone and that the state never had is left out, unless it was billed.
func (r *run) machine(backend string, says *offer.Rental) {
	if says == nil {
		return
	}
	was, known := r.st.Rentals[says.ID]
	order := ""
	if _, ordered := r.st.Rentals[says.Order]; ordered && says.Order != says.ID {
		order = says.Order
	}
	if !known && order == "" && says.Status == offer.RentalReleased && says.Billed == "" && says.Began.IsZero() {
		return // it never was
	}
	if now, changed := observed.Rental(was, backend, *says, r.Clock()); changed || order != "" {
		r.Emit(state.Rented{Rental: now, Order: order})
	}
}

// machines records the providers' last reports of the campaign's machines.
func (r *run) machines() {
	seen := observed.Refresh{Rentals: r.Rentals}
	for _, id := range slices.Sorted(maps.Keys(r.st.Rentals)) {
		if m := r.st.Rentals[id]; seen.Unlisted(m) {
			r.machine(m.Backend, &offer.Rental{ID: id, Kind: m.Kind, Status: offer.RentalReleased, Since: r.Clock()})
		}
	}
	for _, backend := range slices.Sorted(maps.Keys(r.Rentals)) {
		for _, m := range r.Rentals[backend] {
			r.machine(backend, &m)
		}
	}
}

// needed is why the machines of a backend cannot be given back now, "" when they
// can.
func (rl *releases) needed(backend string) string {
	if n := rl.running(backend); n > 0 {
		return amount.Jobs(n) + " may run there"
	}
	if rl.places.KeepsFiles(backend) {
		return ""
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

// cancelling reports whether jobs of a backend are being ended.
func (rl *releases) cancelling(backend string) bool {
	for _, f := range rl.attempts {
		if f.B.Name == backend && f.End != backends.Stays {
			return true
		}
	}
	return false
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
