package observed

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Rental is the record of a rented machine after its provider's report at a time; was
// is the record before, zero where there is none. A machine whose release was asked for
// stays so until its provider says that it is gone.
func Rental(was state.Rental, backend string, says offer.Rental, now time.Time) (r state.Rental, changed bool) {
	known := was.ID != ""
	r = state.Rental{ID: says.ID, Kind: says.Kind, Backend: backend, Since: says.Since.UTC(), Status: state.RentalStatus(says.Status), PerHour: cmp.Or(says.Rate, was.PerHour),
		Began: latest(says.Began, was.Began), Ended: latest(says.Ended, was.Ended), Billed: cmp.Or(says.Billed, was.Billed), Account: was.Account, AccountKey: was.AccountKey}
	r.Metered, r.Spent, r.Unit = was.Metered, was.Spent, was.Unit
	if !says.Metered.IsZero() {
		r.Metered, r.Spent, r.Unit = says.Metered.UTC(), says.Spent, says.Unit
	}
	if says.Account != (offer.Account{}) {
		r.Account, r.AccountKey = says.Account.ID, says.Account.Key
	}
	switch {
	case known && was.Status == state.RentalDeleting && r.Status != state.RentalReleased:
		r.Kind, r.Status, r.Since, r.PerHour = was.Kind, was.Status, was.Since, was.PerHour
	case says.Since.IsZero() && known && was.Status == r.Status:
		r.Since = was.Since
	case says.Since.IsZero():
		r.Since = now
	}
	same := known && r.Status == was.Status && r.Since.Equal(was.Since) && r.PerHour == was.PerHour && r.Kind == was.Kind &&
		r.Began.Equal(was.Began) && r.Ended.Equal(was.Ended) && r.Billed == was.Billed &&
		r.Metered.Equal(was.Metered) && r.Spent == was.Spent && r.Unit == was.Unit && r.Account == was.Account && r.AccountKey == was.AccountKey
	return r, !same
}

// latest is a provider's time from its report now, or from one before.
func latest(says, was time.Time) time.Time {
	if says.IsZero() {
		return was
	}
	return says.UTC()
}

// Rented adds a provider's report of a backend's machines.
func (r *Refresh) Rented(backend string, list []offer.Rental) {
	for _, m := range list {
		switch {
		case !m.Orphan:
			if r.Rentals == nil {
				r.Rentals = map[string][]offer.Rental{}
			}
			r.Rentals[backend] = append(r.Rentals[backend], m)
		case m.Status != offer.RentalReleased:
			r.Orphans = append(r.Orphans, Orphan{Backend: backend, ID: m.ID, PerHour: m.Rate})
		}
	}
}

// Unlisted reports whether a recorded machine is missing from the whole list of its
// provider, which has all that may be billed: it is gone, or has another id by now.
func (r *Refresh) Unlisted(m state.Rental) bool {
	list, asked := r.Rentals[m.Backend]
	return asked && m.Rented() && !slices.ContainsFunc(list, func(o offer.Rental) bool { return o.ID == m.ID })
}

// Machines are the recorded machines as their providers say that they are now. One that
// the state does not know is among them unless it is gone.
func (r *Refresh) Machines(recorded map[string]state.Rental, now time.Time) map[string]state.Rental {
	if len(r.Rentals) == 0 {
		return recorded
	}
	out := maps.Clone(recorded)
	if out == nil {
		out = map[string]state.Rental{}
	}
	for id, m := range out {
		if r.Unlisted(m) {
			m.Status, m.Since = state.RentalReleased, now
			out[id] = m
		}
	}
	for _, backend := range slices.Sorted(maps.Keys(r.Rentals)) {
		for _, m := range r.Rentals[backend] {
			was := out[m.ID]
			if now, changed := Rental(was, backend, m, now); changed && (was.ID != "" || now.Rented()) {
				out[m.ID] = now
			}
		}
	}
	return out
}
