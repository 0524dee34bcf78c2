package kept

import (
	"context"
	"slices"

	"github.com/muster-run/muster/cmd/muster/plugins"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/planner/apply/simulated"
	"github.com/muster-run/muster/planner/planfile"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/glance"
)

// A Standing is a plan in which nothing starts, with what it was made from.
type Standing struct {
	Plan     *planner.Plan
	Input    planner.Input
	Diags    diag.List
	Versions map[string]string // of providers, by type
	Forms    *Forms
}

// Stand plans from a glance at the state, which is enough where every job is
// done, or stopped and to stay so, and stands as it was recorded. In all other
// cases it gives nil: then the state has to be read, the backends asked, and the
// plan made of that. What may be shown again is kept for Again, if nothing was
// to be said of the campaign when it was loaded.
func (q Asked) Stand(ctx context.Context, c *lang.Campaign, seen *glance.Glance, clean bool) *Standing {
	if seen.Fill() != nil {
		return nil
	}
	st := seen.State
	if simulated.Of(c, st, q.Now) != nil {
		return nil
	}
	found, ok := refresh.Standing(ctx, refresh.Input{Campaign: c, State: st, Now: q.Now, Cache: q.Cache, Refresh: q.Refresh, Waiting: q.Waiting, Reads: q.Reads})
	if !ok {
		return nil
	}
	s := &Standing{Input: planner.Input{Campaign: c, State: st, Now: q.Now, Observed: found.Observed}, Versions: found.Versions}
	plan, more := planner.Make(s.Input)
	s.Plan, s.Diags = plan, append(found.Diags, more...)
	if !standsStill(plan) || s.Diags.HasErrors() {
		return nil
	}
	s.Versions["local"] = plugins.LocalVersion() // no other could have been asked
	var err error
	if s.Forms, err = q.formsOf(plan, planfile.Meta{Muster: q.Load.Version, Providers: s.Versions, Input: s.Input}, seen); err != nil {
		return nil
	}
	if clean && closed(c) && len(s.Diags) == 0 && !plan.BudgetBroken() {
		q.keep(ctx, s, c, seen.Of.Seal)
	}
	return s
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
