package ledger

import "github.com/muster-run/muster/state"

// Dues are what a job may still cost: one launch at its full walltime, and
// how many launches are left to it.
type Dues struct {
	One  state.Amounts // of a launch, as recorded with its attempt
	Each Amounts       // the same
	Left int64
	// Steps are the launches where retries scale, first to last; nil: Each.
	Steps []Amounts
	// Open are the units in which nothing bounds a launch.
	Open [len(units)]bool
}

// Next is what the next launch may cost.
func (d *Dues) Next() Amounts {
	if at := len(d.Steps) - int(d.Left); d.Steps != nil && at >= 0 && at < len(d.Steps) {
		return d.Steps[at]
	}
	return d.Each
}

// Rest is what all that are left may cost.
func (d *Dues) Rest() (a Amounts) {
	if d.Steps == nil || int(d.Left) > len(d.Steps) {
		a.Add(d.Each, d.Left)
		return a
	}
	for _, s := range d.Steps[len(d.Steps)-int(d.Left):] {
		a.Add(s, 1)
	}
	return a
}
