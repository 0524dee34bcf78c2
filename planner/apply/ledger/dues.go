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
	// Waited is what the launch at hand may cost more, since it waits for longer
	// than was quoted where that is billed.
	Waited Amounts
	// Open are the units in which nothing bounds a launch.
	Open [len(units)]bool
}

// Next is what the next launch may cost.
func (d *Dues) Next() (a Amounts) {
	a = d.Each
	if at := len(d.Steps) - int(d.Left); d.Steps != nil && at >= 0 && at < len(d.Steps) {
		a = d.Steps[at]
	}
	a.Add(d.Waited, 1)
	return a
}

// Rest is what all that are left may cost.
func (d *Dues) Rest() (a Amounts) {
	if d.Left > 0 {
		a = d.Waited
	}
	if d.Steps == nil || int(d.Left) > len(d.Steps) {
		a.Add(d.Each, d.Left)
		return a
	}
	for _, s := range d.Steps[len(d.Steps)-int(d.Left):] {
		a.Add(s, 1)
	}
	return a
}
