package main

import (
	"context"
	"errors"

	"github.com/muster-run/muster/cmd/muster/chosen"
	"github.com/muster-run/muster/cmd/muster/kept"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/planner/apply/simulated"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/planfile"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/launch"
	"github.com/muster-run/muster/providers/sim"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
	"github.com/muster-run/muster/state/store/file"
)

// work is a plan with everything it was made from, and the provider
// processes that are up.
type work struct {
	campaign  *lang.Campaign
	state     *state.State
	plan      *planner.Plan
	input     planner.Input
	diags     diag.List
	launcher  *launch.Launcher
	simulated *simulated.World  // nil when something real is declared
	versions  map[string]string // of providers, by type
	shown     *kept.Forms       // how it looks, if that is known; nil: as it is
}

func (w *work) close() {
	if w.launcher != nil {
		w.launcher.Close()
	}
}

// provider is what the engine asks for a backend type.
func (w *work) provider(ctx context.Context) func(string) (providers.Provider, error) {
	return func(typ string) (providers.Provider, error) {
		if typ == sim.Type && w.simulated != nil {
			return w.simulated.Sim, nil
		}
		return w.launcher.Provider(ctx, typ)
	}
}

// asked is who asks for a plan, of what.
func (a *app) asked(p planFlags) kept.Asked {
	return kept.Asked{Load: a.loadOptions(p.varFlags, false), Cache: a.cacheDir(), Now: a.now(), Style: a.out, Refresh: p.refresh, Waiting: a.waiting, Reads: a.guard.Reads, Key: a.guard.Key}
}

// plan loads, observes and plans; errors in the campaign are printed and end
// the command.
func (a *app) plan(ctx context.Context, p planFlags) (*work, error) {
	p.here = !p.refresh
	q := a.asked(p)
	early := q.ReadEarly(ctx, p.glance)
	if p.glance {
		if shown, st := q.Again(ctx, early, p.text, p.file); shown != nil {
			if s, err := file.Open(early.Path, file.Options{}); err == nil {
				a.noteGone(ctx, s)
			}
			return &work{plan: &planner.Plan{}, state: st, shown: shown}, nil
		}
	}
	c, diags := a.load(p.varFlags, false)
	if err := a.report(diags); err != nil {
		if p.json {
			return nil, errors.Join(a.unplanned(diags), err)
		}
		return nil, err
	}
	s, err := a.store(c)
	if err != nil {
		return nil, err
	}
	if seen := early.Seen(s); seen != nil {
		k, ok := unlessInterrupted(ctx, func() *kept.Standing { return q.Stand(ctx, c, seen, !a.warned) })
		if !ok {
			return nil, errInterrupted
		}
		if k != nil {
			a.noteGone(ctx, s)
			return &work{campaign: c, state: seen.State, plan: k.Plan, input: k.Input, diags: k.Diags, versions: k.Versions, shown: k.Forms}, nil
		}
	}
	st, err := early.State(ctx, s)
	if err != nil {
		return nil, err
	}
	a.noteGone(ctx, s)
	return a.planWith(ctx, c, st, p)
}

// unplanned prints what takes the place of a plan as JSON where the campaign
// cannot be read.
func (a *app) unplanned(diags diag.List) error {
	return a.encode(map[string]any{"format_version": planfile.FormatVersion, "type": "plan", "valid": false, "diagnostics": diag.ToJSON(diags, a.sources)})
}

// planWith plans against a state that is already open.
func (a *app) planWith(ctx context.Context, c *lang.Campaign, st *state.State, p planFlags) (*work, error) {
	options := planner.Options{Targets: p.targets, Rerun: p.rerun, Accept: p.accept, Destroy: p.destroy, Outputs: p.outputs,
		RefreshOnly: p.refreshOnly, Reason: p.reason}
	if err := a.misaddressed(c, st, p, options); err != nil {
		return nil, err
	}
	w := &work{campaign: c, state: st, launcher: a.launcher()}
	now := a.now()
	if w.simulated = simulated.Of(c, st, now); w.simulated != nil {
		now = w.simulated.Clock.Now()
	}
	w.input = planner.Input{Campaign: c, State: st, Now: now, Options: options}
	var secrets func(lang.Secret) error
	if p.secrets {
		secrets = site.Readable
	}
	seen := refresh.Observe(ctx, refresh.Input{
		Campaign: c, State: st, Provider: w.provider(ctx), Options: w.input.Options, Now: w.input.Now,
		Cache: a.cacheDir(), Refresh: p.refresh, Verify: p.verify, Preflight: p.refresh && !p.destroy && !p.refreshOnly, Copies: p.refresh && !p.destroy, Digest: p.digest,
		Waiting: a.waiting, Here: p.here, Reads: a.guard.Reads, Secrets: secrets,
	})
	w.input.Observed, w.input.Pools, w.input.Quotes, w.input.Can = seen.Observed, seen.Pools, seen.Quotes, seen.Can
	w.versions = seen.Versions
	diags := append(strayed(ctx, c, st), seen.Diags...)
	input := w.input
	made, ok := unlessInterrupted(ctx, func() (m struct {
		plan *planner.Plan
		ds   diag.List
	}) {
		m.plan, m.ds = planner.Make(input)
		return m
	})
	diags.Append(made.ds...)
	w.plan, w.diags = made.plan, diags
	if !ok || ctx.Err() != nil {
		w.close()
		return nil, errInterrupted
	}
	return w, nil
}

// misaddressed refuses addresses that mean no job, before anything is asked or
// shown.
func (a *app) misaddressed(c *lang.Campaign, st *state.State, p planFlags, o planner.Options) error {
	diags := planner.Misaddressed(c, st, o)
	if len(p.about) > 0 {
		_, wrong := chosen.Of(c, st, p.about)
		diags.Append(wrong...)
	}
	err := a.report(diags)
	if err != nil && p.json {
		return errors.Join(a.unplanned(diags), err)
	}
	return err
}

// foresee makes the plan that follows an apply, if it is that nothing starts,
// so that it is there when it is asked for.
func (a *app) foresee(ctx context.Context, c *lang.Campaign, s store.Store, v varFlags) {
	f, ok := s.(*file.Store)
	if !ok {
		return
	}
	q := a.asked(planFlags{varFlags: v, refresh: true})
	if seen := kept.Look(ctx, f, q.Refresh); seen != nil {
		q.Stand(ctx, c, seen, !a.warned)
	}
}
