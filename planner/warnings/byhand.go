package warnings

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/state"
)

// ByHand are the machines that a state knows and those that somebody rents by
// hand, by their names.
func ByHand(rentals map[string]state.Rental, backends []*lang.Backend) map[string]state.Rental {
	out := maps.Clone(rentals)
	for _, b := range backends {
		for _, m := range b.Rented {
			if out == nil {
				out = map[string]state.Rental{}
			}
			id := m.Name
			if _, taken := out[id]; taken {
				id += " of backend." + b.Address()
			}
			out[id] = state.Rental{ID: id, Backend: b.Address(), Status: state.RentalStatus(m.Status), Since: m.Since, PerHour: m.PerHour}
		}
	}
	return out
}

// NotOurs says of the machines that somebody rents by hand that muster ends none
// of them, and what each is billed until somebody does; "" where there are none.
func NotOurs(backends []*lang.Backend) string {
	machines := ByHand(nil, backends)
	if len(machines) == 0 {
		return ""
	}
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(machines)) {
		m := machines[id]
		text := fmt.Sprintf("%s on %s, %s", id, m.Backend, m.Status)
		if !m.Since.IsZero() {
			text += " since " + m.Since.UTC().Format(time.DateOnly)
		}
		if m.PerHour == "" {
			text += ", at an unknown price"
		} else {
			text += ", at " + amount.Hourly(m.PerHour)
		}
		parts = append(parts, text)
	}
	what := "Rented by hand, so that muster does not end it: %s. It is billed until you give it back where you rented it."
	if len(parts) > 1 {
		what = "Rented by hand, so that muster does not end them: %s. They are billed until you give them back where you rented them."
	}
	return fmt.Sprintf(what, strings.Join(parts, "; "))
}

// furthestEast is by how much a day begins earlier there than in UTC, by which days
// are read: a machine that was stopped today may be written with a day to come.
const furthestEast = 14 * time.Hour

// Ahead are the machines whose stated start is in the future: their bills would be counted
// from then.
func Ahead(backends []*lang.Backend, now time.Time) (out diag.List) {
	for _, b := range backends {
		for _, m := range b.Rented {
			ahead, written := m.Since.Sub(now), m.Since.UTC().Format(time.RFC3339)
			if day := m.Since.UTC().Truncate(24 * time.Hour); m.Since.Equal(day) {
				ahead, written = ahead-furthestEast, day.Format(time.DateOnly)
			}
			if m.Since.IsZero() || ahead <= 0 {
				continue
			}
			out.Append(diag.Diagnostic{Summary: fmt.Sprintf("%s has been %s since a time in the future", m.Name, m.Status), Address: "backend." + b.Address(), In: fmt.Sprintf("backend %q %q, rented %q", b.Type, b.Name, m.Name), Subject: m.Written.Ptr(),
				Detail: fmt.Sprintf("since is %s, and it is %s now. Write since when it has been %s, as a day or a time; or leave since out, and muster computes no date from it.", written, now.UTC().Format(time.RFC3339), m.Status)})
		}
	}
	return out
}
