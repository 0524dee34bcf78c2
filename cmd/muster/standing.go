package main

import (
	"context"
	"path/filepath"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/state"
)

// planStanding plans from a glance at the state, which is enough where every
// job is done and stands as it was recorded. In all other cases it gives nil:
// then the state has to be read, the backends asked, and the plan made of
// that.
func (a *app) planStanding(ctx context.Context, c *lang.Campaign, st *state.State, p planFlags) *work {
	now := a.now()
	if simulationOf(c, st, now) != nil {
		return nil
	}
	seen, ok := refresh.Standing(ctx, refresh.Input{Campaign: c, State: st, Now: now, Cache: filepath.Join(a.dataDir(), "cache"), Refresh: p.refresh, Waiting: a.waiting})
	if !ok {
		return nil
	}
	w := &work{campaign: c, state: st, input: planner.Input{Campaign: c, State: st, Now: now, Observed: seen.Observed}}
	plan, more := planner.Make(w.input)
	w.plan, w.diags = plan, append(seen.Diags, more...)
	if all := plan.Counts.Total; all == 0 || plan.Counts.Unchanged < all || len(plan.Loose)+len(plan.Asks) > 0 || w.diags.HasErrors() {
		return nil
	}
	return w
}
