package refresh

import (
	"slices"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Changed are the outputs of a record that are gone, those that are back, and those that were
// touched and hold the same bytes.
func Changed(j *state.Job, seen planner.Observed) (changed []state.Output) {
	touched := seen.Touched[j.Address]
	for _, o := range j.Outputs {
		if i := slices.IndexFunc(touched, func(s offer.Output) bool { return s.Name == o.Name }); i >= 0 {
			changed = append(changed, observed.As(&o, &touched[i]))
			continue
		}
		if _, away := seen.Unreachable[o.Backend]; away {
			continue
		}
		gone := slices.ContainsFunc(seen.Outputs[j.Address], func(s offer.Output) bool { return s.Name == o.Name && !s.OK && !s.Present })
		if gone != o.Missing {
			o.Missing = gone
			changed = append(changed, o)
		}
	}
	return changed
}
