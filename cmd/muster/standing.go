package main

import (
	"context"
	"slices"

	"github.com/muster-run/muster/cmd/muster/plugins"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/planner/apply/simulated"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/glance"
)

// planStanding plans from a glance at the state, which is enough where every
// job is done, or stopped and to stay so, and stands as it was recorded. In all
// other cases it gives nil: then the state has to be read, the backends asked, and the plan made of
// that.
func (a *app) planStanding(ctx context.Context, c *lang.Campaign, seen *glance.Glance, p planFlags) *work {
	if seen.Fill() != nil {
		return nil
	}
	now, st := a.now(), seen.State
	if simulated.Of(c, st, now) != nil {
		return nil
	}
	found, ok := refresh.Standing(ctx, refresh.Input{Campaign: c, State: st, Now: now, Cache: a.cacheDir(), Refresh: p.refresh, Waiting: a.waiting})
	if !ok {
		return nil
	}
	w := &work{campaign: c, state: st, input: planner.Input{Campaign: c, State: st, Now: now, Observed: found.Observed}, versions: found.Versions}
	plan, more := planner.Make(w.input)
	w.plan, w.diags = plan, append(found.Diags, more...)
	if !standsStill(plan) || w.diags.HasErrors() {
		return nil
	}
	w.versions["local"] = plugins.LocalVersion() // no other could have been asked
	var err error
	if w.shown, err = a.formsOf(w, seen); err != nil {
		return nil
	}
	if closed(c) && !a.warned && len(w.diags) == 0 && !plan.BudgetBroken() {
		a.keep(ctx, w, p, seen.Of.Seal)
	}
	return w
}

// standsStill reports whether a plan leaves every job as its record says: done,
// or stopped. Where something else holds a job, such as a smoke, or it is held
// from running again, more is told than a glance has.
func standsStill(p *planner.Plan) bool {
	if p.Counts.Total == 0 || p.Counts.Changes() || len(p.Loose)+len(p.Asks) > 0 {
		return false
	}
	return !slices.ContainsFunc(p.Phases, func(pp *planner.PhasePlan) bool { return !phaseStandsStill(pp) })
}

func phaseStandsStill(pp *planner.PhasePlan) bool {
	for i, k := range pp.Kind {
		job := pp.Record(i)
		if job == nil || job.Status == state.Completed && k != planner.None || job.Status != state.Completed && k != planner.HeldKind {
			return false
		}
	}
	return pp.Hold == "" && pp.Smoke == nil
}
