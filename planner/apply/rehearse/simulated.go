package rehearse

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/sim"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

// A World is the world of a campaign all of whose jobs go to simulated backends:
// it is in this process, and lives by a clock of its own.
type World struct {
	Clock *clock.Virtual
	Sim   *sim.Sim
}

// WorldOf is the simulation of a campaign, nil when a plan of it may use a backend
// that is none. Its time goes on where the state's ended.
func WorldOf(c *lang.Campaign, st *state.State, now time.Time) *World {
	if real, any := usesSimulated(c); real || !any {
		return nil
	}
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
		}
	}
	v, present := clock.NewVirtual(now), InFlight(c, st)
	epoch, launches := Began(st), Launches(st, present)
	existing := Existing(st)
	return &World{Clock: v, Sim: sim.NewOf(v, sim.Schema(), func(b providers.Backend) (sim.Site, error) {
		s, err := sim.SiteOf(b)
		s.Present, s.Epoch, s.Launches, s.Existing = present[b.Name], epoch[b.Name], launches[b.Name], existing[b.Name]
		return s, err
	})}
}

// usesSimulated tells which backends the jobs of a campaign may go to: some that is not
// simulated, and any that is declared. A phase without a place may go to all.
func usesSimulated(c *lang.Campaign) (real, any bool) {
	use := func(address string) {
		any = true
		real = real || !strings.HasPrefix(strings.TrimPrefix(address, "backend."), sim.Type+".")
	}
	declared := slices.DeleteFunc(slices.Clone(c.Backends), func(b *lang.Backend) bool { return b.Implied })
	all := func() {
		for _, b := range declared {
			use(b.Address())
		}
	}
	if len(c.Phases) == 0 {
		all()
	}
	for _, p := range c.Phases {
		places := slices.Concat(p.Candidates, lang.Beyond(p))
		if p.Smoke != nil {
			places = append(places, p.Smoke.Candidates...)
		}
		if len(p.Candidates) == 0 {
			all()
		}
		for _, at := range places {
			use(at)
		}
	}
	return real, any
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
func (s *World) Run(ctx context.Context, c apply.Config) (progress.Outcome, error) {
	return s.in(ctx, c, apply.Run)
}

// Restrain holds the jobs that no budget covers, in simulated time.
func (s *World) Restrain(ctx context.Context, c apply.Config) (progress.Outcome, error) {
	return s.in(ctx, c, apply.Restrain)
}

func (s *World) in(ctx context.Context, c apply.Config, do func(context.Context, apply.Config) (progress.Outcome, error)) (out progress.Outcome, err error) {
	seldom := &seldomSynced{Session: c.Session}
	c.Session, c.Time = seldom, s.Clock
	s.Clock.Run(func() { out, err = do(ctx, c) })
	if err == nil {
		err = seldom.Session.Sync(ctx)
	}
	return out, err
}

// seldomSynced makes events durable now and then: the jobs are simulated in this process, and
// a crash loses both.
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
