package main

import (
	"context"
	"errors"

	"github.com/muster-run/muster/cmd/muster/selection"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/planner/apply/rehearse"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/planner/planfile"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/launch"
	"github.com/muster-run/muster/providers/sim"
	"github.com/muster-run/muster/state"
)

// work is a plan with everything it was made from, and the provider
// processes that are up.
type work struct {
	tried     map[string]bool // commands of preconditions, by text
	campaign  *lang.Campaign
	state     *state.State
	plan      *planner.Plan
	input     planner.Input
	diags     diag.List
	launcher  *launch.Launcher
	simulated *rehearse.World   // nil when something real is declared
	versions  map[string]string // of providers, by type
}

func (w *work) close() {
	if w.launcher != nil {
		w.launcher.Close()
	}
}

// provider gives the engine the provider of a backend type.
func (w *work) provider(ctx context.Context) func(string) (providers.Provider, error) {
	return func(typ string) (providers.Provider, error) {
		if typ == sim.Type && w.simulated != nil {
			return w.simulated.Sim, nil
		}
		return w.launcher.Provider(ctx, typ)
	}
}

// A planning is one plan that a command asks for.
type planning struct {
	*workspace
	p planFlags
}

// plan loads, observes and plans; errors in the campaign are printed and end
// the command.
func (ws *workspace) plan(ctx context.Context, p planFlags) (*work, error) {
	p.here = !p.refresh
	return planning{ws, p}.make(ctx)
}

// planWith plans against a state that is already open.
func (ws *workspace) planWith(ctx context.Context, c *lang.Campaign, st *state.State, p planFlags) (*work, error) {
	return planning{ws, p}.with(ctx, c, st)
}

func (pl planning) make(ctx context.Context) (*work, error) {
	p := pl.p
	early := pl.readEarly(ctx)
	c, diags := pl.load(p.varFlags, false)
	if err := pl.report(diags); err != nil {
		if p.json {
			return nil, errors.Join(pl.unplanned(diags), err)
		}
		return nil, err
	}
	s, err := pl.store(c)
	if err != nil {
		return nil, err
	}
	if g := early.of(s).settled; g != nil {
		w, ok := unlessInterrupted(ctx, func() *work { return pl.settled(ctx, c, g) })
		if !ok {
			return nil, errInterrupted
		}
		if w != nil {
			pl.noteGone(ctx, s)
			return w, nil
		}
	}
	st, err := early.read(ctx, s)
	if err != nil {
		return nil, err
	}
	pl.noteGone(ctx, s)
	refresh.Rehome(c, st, pl.guard.Reads)
	return pl.with(ctx, c, st)
}

// unplanned prints JSON in place of a plan where the campaign cannot be read.
func (pl planning) unplanned(diags diag.List) error {
	return pl.encode(map[string]any{"format_version": planfile.FormatVersion, "type": "plan", "valid": false, "diagnostics": diag.ToJSON(diags, pl.sources)})
}

func (pl planning) with(ctx context.Context, c *lang.Campaign, st *state.State) (*work, error) {
	p := pl.p
	st = history.MovedOf(c.Moved).Renames().View(st)
	options := planner.Options{Targets: p.targets, Rerun: p.rerun, Accept: p.accept, Release: p.release, Destroy: p.destroy, Outputs: p.outputs,
		RefreshOnly: p.refreshOnly, Reason: p.reason}
	if err := pl.misaddressed(c, st, options); err != nil {
		return nil, err
	}
	pl.meetLinks()
	w := &work{campaign: c, state: st, launcher: pl.launcher()}
	now := pl.now()
	if w.simulated = rehearse.WorldOf(c, st, now); w.simulated != nil {
		now = w.simulated.Clock.Now()
	}
	w.input = planner.Input{Campaign: c, State: st, Now: now, Options: options}
	var secrets func(lang.Secret) error
	if p.secrets {
		secrets = func(s lang.Secret) error { return site.Readable(c.Dir, s) }
	}
	seen := refresh.Observe(ctx, refresh.Input{
		Campaign: c, State: st, Provider: w.provider(ctx), Options: w.input.Options, Now: w.input.Now,
		Cache: pl.cacheDir(), Refresh: p.refresh, Verify: p.verify, Preflight: p.refresh && !p.destroy && !p.refreshOnly, Copies: p.refresh && !p.destroy, Adopt: p.adopt,
		Waiting: pl.waiting, Here: p.here, Reads: pl.guard.Reads, Secrets: secrets,
	})
	w.input.Observed, w.input.Pools, w.input.Quotes, w.input.Can = seen.Observed, seen.Pools, seen.Quotes, seen.Can
	w.versions = seen.Versions
	diags := append(strayed(ctx, c, st), seen.Diags...)
	if !p.destroy && !p.refreshOnly {
		var ignored diag.List
		w.input.Precedents, ignored = precedentsOf(c.Dir).read(w.input.Now)
		diags.Append(ignored...)
	}
	plan, more, err := makePlan(ctx, w.input)
	if err != nil {
		w.close()
		return nil, err
	}
	diags.Append(more...)
	w.plan, w.diags = plan, diags
	if p.refresh && w.simulated == nil {
		w.diags.Append(pl.tryCommands(ctx, w, pl.guard.Allows)...)
	}
	return w, nil
}

// makePlan is planner.Make, unless somebody interrupts it.
func makePlan(ctx context.Context, in planner.Input) (*planner.Plan, diag.List, error) {
	made, ok := unlessInterrupted(ctx, func() (m struct {
		plan  *planner.Plan
		diags diag.List
	}) {
		m.plan, m.diags = planner.Make(in)
		return m
	})
	if !ok || ctx.Err() != nil {
		return nil, nil, errInterrupted
	}
	return made.plan, made.diags, nil
}

// misaddressed refuses addresses that mean no job, before anything is asked or
// shown.
func (pl planning) misaddressed(c *lang.Campaign, st *state.State, o planner.Options) error {
	p := pl.p
	diags := planner.Misaddressed(c, st, o)
	if len(p.about) > 0 {
		_, wrong := selection.Of(c, st, p.about)
		diags.Append(wrong...)
	}
	err := pl.report(diags)
	if err != nil && p.json {
		return errors.Join(pl.unplanned(diags), err)
	}
	return err
}
