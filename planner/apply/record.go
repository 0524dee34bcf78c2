package apply

import (
	"context"
	"slices"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Record notes what became of jobs and of recorded outputs since somebody
// last looked, and starts nothing. Of outputs it notes what seen tells. The
// caller holds the lease.
func Record(ctx context.Context, c Config, seen planner.Observed) error {
	e, done, err := quiet(ctx, c)
	defer done()
	if err != nil {
		return err
	}
	if err := e.until(ctx, doEnds, func() bool { return e.fleet.Unanswered == 0 && !e.sending() }); err != nil {
		return err
	}
	for _, address := range e.st.Addresses() {
		if j := e.st.Jobs[address]; j.Status == state.Completed && !j.Smoke {
			e.recordOutputs(j, seen)
		}
	}
	e.sync()
	return e.err
}

// recordOutputs marks outputs that are gone, and those that are back.
func (e *engine) recordOutputs(j *state.Job, seen planner.Observed) {
	var changed []state.Output
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
	if len(changed) > 0 {
		e.emit(state.OutputsSeen{Address: j.Key(), Outputs: changed, At: e.Clock()})
	}
}
