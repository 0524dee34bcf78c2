package apply

import (
	"context"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/state"
)

// Record notes the changes of jobs and of recorded outputs since the last
// look, and starts nothing. It takes those of outputs from seen. The caller
// holds the lease.
func Record(ctx context.Context, c Config, seen planner.Observed) error {
	c.Rentals = seen.Rentals
	e, done, err := quiet(ctx, c)
	defer done()
	if err != nil {
		return err
	}
	if err := e.until(ctx, doEnds, func() bool { return e.backends.Unanswered == 0 && !e.sending() }); err != nil {
		return err
	}
	for _, address := range e.st.Addresses() {
		if j := e.st.Jobs[address]; j.Status == state.Completed && !j.Smoke {
			if changed := refresh.Changed(j, seen); len(changed) > 0 {
				e.Emit(state.OutputsSeen{Address: j.Key(), Outputs: changed, At: e.Clock()})
			}
		}
	}
	e.accounts.reconcile()
	e.Sync()
	return e.err
}
