package refresh

import (
	"slices"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Changed are the outputs of a record that are gone by what was seen, and those
// that are back.
func Changed(j *state.Job, seen planner.Observed) (changed []state.Output) {
	for _, o := range j.Outputs {
		if _, away := seen.Unreachable[o.Backend]; away {
			continue
		}
		gone := slices.ContainsFunc(seen.Outputs[j.Address], func(s offer.Output) bool { return s.Name == o.Name && !s.OK })
		if gone != o.Missing {
			o.Missing = gone
			changed = append(changed, o)
		}
	}
	return changed
}
