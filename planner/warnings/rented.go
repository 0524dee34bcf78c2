package warnings

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// clockAhead is how far ahead the plan shows a danger clock of a rented machine.
const clockAhead = 30 * 24 * time.Hour

// Rented says what every rented machine is billed, by the hour and the day,
// whether the plan uses it or not, and what its platform does with it and when.
// due are the notes of those for which a date is near or over.
func Rented(rentals map[string]state.Rental, orphans []observed.Orphan, pools []offer.Pool, now time.Time) (notes, due []string) {
	var day decimal.Decimal
	n, unknown := 0, 0
	count := func(perHour string) string {
		n++
		rate, err := decimal.NewFromString(perHour)
		if err != nil {
			unknown++
			return "billed at an unknown price"
		}
		daily := rate.Mul(decimal.NewFromInt(24))
		day = day.Add(daily)
		return fmt.Sprintf("%s, %s a day", amount.Hourly(perHour), amount.Words("usd", daily.String()))
	}
	for _, id := range slices.Sorted(maps.Keys(rentals)) {
		r := rentals[id]
		if !r.Rented() {
			continue
		}
		text := fmt.Sprintf("%s on %s is %s", id, r.Backend, r.Status.Words())
		if !r.Since.IsZero() {
			text = fmt.Sprintf("%s on %s has been %s since %s", id, r.Backend, r.Status.Words(), r.Since.UTC().Format("2006-01-02"))
		}
		text += ": " + count(r.PerHour)
		near := false
		for _, c := range rentalClocks(pools, r.Backend) {
			if said := rentalClock(c, r.Status, r.Since, now); said != "" {
				text += "; " + said
				near = near || !c.At.IsZero() || c.After > 0 && !r.Since.IsZero()
			}
		}
		notes = append(notes, text+".")
		if near {
			due = append(due, text+".")
		}
	}
	for _, o := range orphans {
		count(o.PerHour)
	}
	if n < 2 {
		return notes, due
	}
	text := fmt.Sprintf("%d machines are rented, for %s a day in all", n, amount.Words("usd", day.String()))
	if unknown > 0 {
		text += fmt.Sprintf(", and the cost of %d of them is unknown", unknown)
	}
	return append(notes, text+"."), due
}

// Exchange says at which rate prices in other currencies are counted.
func Exchange(backends []*lang.Backend, used map[string]bool) (notes []string) {
	for _, b := range backends {
		if b.Exchange != "" && used[b.Address()] {
			notes = append(notes, fmt.Sprintf("backend.%s: its prices are counted at %s, as its block states.", b.Address(), b.Exchange))
		}
	}
	return notes
}

// Dated is Stated, with a pool of no name where a backend has none: nobody can
// be asked about an idle machine.
func Dated(pools []offer.Pool, backends []*lang.Backend) []offer.Pool {
	pools = Stated(pools, backends)
	for _, b := range backends {
		if len(b.Clocks) > 0 && !slices.ContainsFunc(pools, func(p offer.Pool) bool { return p.Backend == b.Address() }) {
			pools = append(pools, offer.Pool{Backend: b.Address(), Clocks: b.Clocks})
		}
	}
	return pools
}

// Stated adds to pools the dates that the blocks of their backends state.
func Stated(pools []offer.Pool, backends []*lang.Backend) []offer.Pool {
	pools = slices.Clone(pools)
	for i := range pools {
		for _, b := range backends {
			if p := &pools[i]; p.Backend == b.Address() {
				p.Clocks = slices.Clone(p.Clocks)
				for _, c := range b.Clocks {
					if !slices.Contains(p.Clocks, c) { // its profile's, which its pools may have, too
						p.Clocks = append(p.Clocks, c)
					}
				}
			}
		}
	}
	return pools
}

// rentalClocks are the danger clocks of a backend, each once.
func rentalClocks(pools []offer.Pool, backend string) (out []offer.Clock) {
	for i := range pools {
		if p := &pools[i]; p.Backend == backend {
			for _, c := range p.Clocks {
				if !slices.Contains(out, c) {
					out = append(out, c)
				}
			}
		}
	}
	return out
}

// rentalClock is the clock of a machine that has been idle since a time:
// a rule without a date holds from the start.
func rentalClock(c offer.Clock, status state.RentalStatus, since, now time.Time) string {
	at := c.At
	switch {
	case at.IsZero() && status != state.RentalStopped:
		return "" // it counts from the last use
	case at.IsZero() && c.After == 0:
		return c.What
	case at.IsZero() && since.IsZero():
		return c.What + " after " + units.ShortDuration(c.After)
	case at.IsZero():
		at = since.Add(c.After)
	}
	switch left := at.Sub(now); {
	case left <= 0:
		return fmt.Sprintf("%s: due since %s", c.What, at.UTC().Format("2006-01-02"))
	case left > clockAhead:
		return ""
	default:
		return fmt.Sprintf("%s in %s, on %s", c.What, days(left), at.UTC().Format("2006-01-02"))
	}
}

// days is a time to a date, in days from two on: a plan made a minute later says
// the same for most of an hour.
func days(d time.Duration) string {
	if n := int((d + 12*time.Hour) / (24 * time.Hour)); n >= 2 {
		return fmt.Sprintf("%d days", n)
	}
	if d >= time.Hour {
		return units.ShortDuration(d.Truncate(time.Hour))
	}
	return units.ShortDuration(max(d.Truncate(time.Minute), time.Minute))
}
