package main

import (
	"context"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/state/glance"
)

// planStanding plans from a glance at the state, which is enough where every
// job is done and stands as it was recorded. In all other cases it gives nil:
// then the state has to be read, the backends asked, and the plan made of
// that.
func (a *app) planStanding(ctx context.Context, c *lang.Campaign, seen *glance.Glance, p planFlags) *work {
	if seen.Fill() != nil {
		return nil
	}
	now, st := a.now(), seen.State
	if simulationOf(c, st, now) != nil {
		return nil
	}
	found, ok := refresh.Standing(ctx, refresh.Input{Campaign: c, State: st, Now: now, Cache: a.cacheDir(), Refresh: p.refresh, Waiting: a.waiting})
	if !ok {
		return nil
	}
	w := &work{campaign: c, state: st, input: planner.Input{Campaign: c, State: st, Now: now, Observed: found.Observed}, versions: found.Versions}
	plan, more := planner.Make(w.input)
	w.plan, w.diags = plan, append(found.Diags, more...)
	if all := plan.Counts.Total; all == 0 || plan.Counts.Unchanged < all || len(plan.Loose)+len(plan.Asks) > 0 || w.diags.HasErrors() {
		return nil
	}
	w.versions["local"] = builtins["local"].schema().Version // no other could have been asked
	var err error
	if w.shown, err = a.formsOf(w, seen); err != nil {
		return nil
	}
	if closed(c) && !a.warned && len(w.diags) == 0 && !plan.BudgetBroken() {
		a.keep(ctx, w, p, seen.Of.Seal)
	}
	return w
}
