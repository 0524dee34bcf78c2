package rental

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// A Session is a time for which a machine ran, as lists showed it.
type Session struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"` // zero while it runs
}

// runs notes that a machine stopped, or runs again: a stopped one is billed at another rate.
func (k *Keeper) runs(r *Rental, m Machine) error {
	n := len(r.Runs)
	switch {
	case n == 0 && !r.Since.IsZero():
		r.Runs = []Session{{From: r.Since}}
	case n > 0 && r.Runs[n-1].To.IsZero() && m.Status == Stopped:
		r.Runs = slices.Clone(r.Runs) // others read the last one
		r.Runs[n-1].To = k.now()
	case n > 0 && !r.Runs[n-1].To.IsZero() && m.Status == Running:
		r.Runs = append(r.Runs, Session{From: k.now()})
	default:
		return nil
	}
	return k.put(r)
}

// cost is the cost of a released machine, USD. "" = it never ran.
func (r *Rental) cost(unit time.Duration) string {
	if r.Since.IsZero() {
		return ""
	}
	return r.spent(r.sessions(), r.Ended, unit)
}

// metered is since when a machine is billed at its current rate, running or stopped, its
// cost until then, and the unit to which the time since is rounded up.
func (r *Rental) metered(unit time.Duration) (since time.Time, spent string, by time.Duration) {
	if r.Since.IsZero() {
		return since, "", 0
	}
	runs := r.sessions()
	last := len(runs) - 1
	if to := runs[last].To; !to.IsZero() {
		return to, r.spent(runs, to, unit), 0
	}
	return runs[last].From, r.spent(runs[:last], runs[last].From, unit), unit
}

// sessions are the times for which the machine ran.
func (r *Rental) sessions() []Session {
	if len(r.Runs) == 0 {
		return []Session{{From: r.Since}}
	}
	return r.Runs
}

// spent is the cost of a machine until a time, USD: each run at its rate, rounded up to the
// billed unit, and its disk at the rate of a stopped machine.
func (r *Rental) spent(runs []Session, until time.Time, unit time.Duration) string {
	var billed time.Duration
	for _, run := range runs {
		if run.To.IsZero() {
			run.To = until
		}
		d := max(run.To.Sub(run.From), 0)
		if unit > 0 {
			d = (d + unit - 1) / unit * unit
		}
		billed += d
	}
	disk := r.Offer.StoppedUSDPerHour
	sum := disk.Mul(decimal.NewFromInt(int64(max(until.Sub(r.Since), 0)))).Add(r.Offer.USDPerHour.Sub(disk).Mul(decimal.NewFromInt(int64(billed))))
	return sum.DivRound(decimal.NewFromInt(int64(time.Hour)), 9).String()
}
