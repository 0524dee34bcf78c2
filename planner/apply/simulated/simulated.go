// Package simulated is the world of a campaign whose backends are all simulated:
// it is in this process, lives by a clock of its own, and applies plans in that.
package simulated

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply"
	"github.com/muster-run/muster/planner/apply/rehearse"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/sim"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

// A World is the world of a campaign whose backends are all simulated:
// it is in this process, and lives by a clock of its own.
type World struct {
	Clock *clock.Virtual
	Sim   *sim.Sim
}

// Of is the simulation of a campaign, nil when it declares a backend
// that is none. Its time goes on where the state's ended.
func Of(c *lang.Campaign, st *state.State, now time.Time) *World {
	declared := slices.DeleteFunc(slices.Clone(c.Backends), func(b *lang.Backend) bool { return b.Implied })
	if len(declared) == 0 || slices.ContainsFunc(declared, func(b *lang.Backend) bool { return b.Type != sim.Type }) {
		return nil
	}
	epoch := map[string]time.Time{} // by backend
	for _, j := range st.Jobs {
		for i := range j.Attempts {
			a := &j.Attempts[i]
			if !strings.HasPrefix(a.Backend, sim.Type+".") {
				continue
			}
			for _, t := range []time.Time{a.Intent, a.Queued, a.Started, a.Ended} {
				if t.After(now) {
					now = t
				}
			}
			if at := epoch[a.Backend]; !a.Intent.IsZero() && (at.IsZero() || a.Intent.Before(at)) {
				epoch[a.Backend] = a.Intent
			}
		}
	}
	v, present := clock.NewVirtual(now), rehearse.InFlight(c, st)
	launches := countLaunches(st, present)
	return &World{Clock: v, Sim: sim.NewOf(v, sim.Schema(), func(b providers.Backend) (sim.Site, error) {
		s, err := sim.SiteOf(b)
		s.Present, s.Epoch, s.Launches = present[b.Name], epoch[b.Name], launches[b.Name]
		return s, err
	})}
}

// countLaunches is how many launches each pool has started, by backend, and
// tells those present which of them they are: a declared price change counts
// on over applies.
func countLaunches(st *state.State, present map[string][]sim.Present) map[string]map[string]int {
	var started []*state.Attempt
	for _, j := range st.All() {
		for i := range j.Attempts {
			if a := &j.Attempts[i]; !a.Started.IsZero() && strings.HasPrefix(a.Backend, sim.Type+".") {
				started = append(started, a)
			}
		}
	}
	slices.SortStableFunc(started, func(a, b *state.Attempt) int { return a.Started.Compare(b.Started) })
	out, nth := map[string]map[string]int{}, map[string]int{} // by token
	for _, a := range started {
		if out[a.Backend] == nil {
			out[a.Backend] = map[string]int{}
		}
		out[a.Backend][a.Pool]++
		token, _, _ := strings.Cut(a.Token, "/")
		nth[token] = out[a.Backend][a.Pool]
	}
	for _, list := range present {
		for i := range list {
			list[i].Nth = nth[list[i].Job.Token]
		}
	}
	return out
}

// Alone reports whether a plan uses nothing but simulated backends.
func (s *World) Alone(p *planner.Plan) bool {
	elsewhere := func(backend string) bool { return backend != "" && !strings.HasPrefix(backend, sim.Type+".") }
	for _, ph := range p.Phases {
		for i := range ph.Placements {
			if elsewhere(ph.Placements[i].Backend) {
				return false
			}
		}
		if g := ph.Smoke; g != nil && elsewhere(g.Place.Backend) {
			return false
		}
		for _, j := range ph.Records {
			if j != nil && j.Last() != nil && elsewhere(j.Last().Backend) {
				return false
			}
		}
	}
	return true
}

// Run applies a plan in simulated time.
func (s *World) Run(ctx context.Context, c apply.Config) (out apply.Outcome, err error) {
	seldom := &seldomSynced{Session: c.Session}
	c.Session, c.Time = seldom, s.Clock
	s.Clock.Run(func() { out, err = apply.Run(ctx, c) })
	if err == nil {
		err = seldom.Session.Sync(ctx)
	}
	return out, err
}

// seldomSynced makes events durable every so often: what they tell of is in
// this process, too, and a crash loses both.
type seldomSynced struct {
	store.Session
	last time.Time
}

const syncSimulated = time.Second

func (s *seldomSynced) Sync(ctx context.Context) error {
	if time.Since(s.last) < syncSimulated {
		return nil
	}
	s.last = time.Now()
	return s.Session.Sync(ctx)
}
