package main

import (
	"context"
	"slices"
	"sync"

	"github.com/muster-run/muster/cmd/muster/plugins"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/planner/apply/rehearse"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/glance"
	"github.com/muster-run/muster/state/store"
	"github.com/muster-run/muster/state/store/file"
)

// An early reads the state while the campaign loads: with many jobs each takes
// as long as the other. It reads the state beside the campaign, where it nearly
// always is.
type early struct {
	location string             // of the state; "" if nothing was read
	done     func() earlyResult // waits for the read
}

type earlyResult struct {
	settled *glance.Glance // set if every job is done or stopped and every file is as recorded
	state   *state.State
	err     error
}

// readEarly begins to read the state beside the campaign; only its glance, if
// that is allowed and enough.
func (pl planning) readEarly(ctx context.Context) early {
	p := pl.p
	s, err := store.Open(file.Type, nil, store.Options{Dir: pl.loadOptions(p.varFlags, false).Dir, Muster: version})
	if err != nil || !pl.guard.Inside(s.Location()) {
		return early{}
	}
	glances, _ := s.(store.Glancer)
	done := make(chan earlyResult, 1)
	go func() {
		var got earlyResult
		if p.glance && glances != nil {
			if g, ok := glances.Glance(ctx); ok && (!p.refresh || refresh.Untouched(ctx, g)) {
				got.settled = g
			}
		}
		if got.settled == nil {
			got.state, got.err = s.Read(ctx)
		}
		done <- got
	}()
	return early{s.Location(), sync.OnceValue(func() earlyResult { return <-done })}
}

// of returns the early reading, if it came from the campaign's store.
func (e early) of(s store.Store) earlyResult {
	if e.location != "" && e.location == s.Location() {
		return e.done()
	}
	return earlyResult{}
}

// read is the whole state: as read early, or read now.
func (e early) read(ctx context.Context, s store.Store) (*state.State, error) {
	if got := e.of(s); got.state != nil && got.err == nil {
		return got.state, nil
	}
	return s.Read(ctx)
}

// settled plans from a glance at the state, without asking a backend. It
// returns nil unless every job stays as its record says, done or stopped: then
// the whole state has to be read and the backends asked.
func (pl planning) settled(ctx context.Context, c *lang.Campaign, g *glance.Glance) *work {
	p := pl.p
	now := pl.now()
	if rereads(c, g.Metrics) || g.Fill() != nil || rehearse.WorldOf(c, g.State, now) != nil {
		return nil
	}
	g.Number()
	found, ok := refresh.ObserveLocal(ctx, refresh.Input{Campaign: c, State: g.State, Now: now, Cache: pl.cacheDir(), Refresh: p.refresh, Waiting: pl.waiting, Reads: pl.guard.Reads})
	if !ok {
		return nil
	}
	w := &work{campaign: c, state: g.State, input: planner.Input{Campaign: c, State: g.State, Now: now, Observed: found.Observed}, versions: found.Versions}
	w.versions["local"] = plugins.LocalVersion() // no other backend could have been asked
	plan, diags := planner.Make(w.input)
	w.plan, w.diags = plan, append(found.Diags, diags...)
	if !settled(plan) || w.diags.HasErrors() {
		return nil
	}
	if plan.Counts.Held > 0 && slices.ContainsFunc(c.Imports, func(im lang.Import) bool { return im.Files() }) {
		return nil // a held job may adopt files, and its backend looks for them
	}
	return w
}

// rereads reports whether a plan has metrics read again.
func rereads(c *lang.Campaign, ms glance.Metrics) bool {
	rs := planner.NewReadings(ms.Definitions)
	return slices.ContainsFunc(c.Phases, func(p *lang.Phase) bool {
		return slices.ContainsFunc(ms.Samples, func(j state.Job) bool { return j.Phase == p.Name && len(rs.Outdated(p, &j)) > 0 })
	})
}

// settled reports whether a plan leaves every job as its record says: done, or
// stopped. A glance does not have what else can hold a job, such as a smoke.
func settled(p *planner.Plan) bool {
	if p.Counts.Total == 0 || p.Counts.Changes() || len(p.Loose)+len(p.Asks) > 0 {
		return false
	}
	return !slices.ContainsFunc(p.Phases, func(pp *planner.PhasePlan) bool { return !phaseSettled(pp) })
}

func phaseSettled(pp *planner.PhasePlan) bool {
	for i, k := range pp.Kind {
		job := pp.Record(i)
		if job == nil || job.Status == state.Completed && k != planner.None || job.Status != state.Completed && k != planner.HeldKind {
			return false
		}
		if slices.ContainsFunc(pp.Phase.Inputs, func(in *lang.Input) bool { return job.Status != state.Completed || job.InputBytes.Get(in.Name) == "" }) {
			return false // a glance does not have which outputs the job read
		}
	}
	return pp.Hold == "" && pp.Smoke == nil
}
