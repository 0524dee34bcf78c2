package rehearse

import (
	"maps"
	"slices"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/providers/sim"
	"github.com/muster-run/muster/state"
)

// A described is a backend of type sim: its block fills in where history has
// nothing, and its outages and prices are played.
type described struct {
	sim.Site
	order map[string][]string // by phase: the classes of failures that it says, sorted
}

// describedIn are the simulated backends of a campaign, by name.
func describedIn(c *lang.Campaign, st *state.State) (map[string]*described, error) {
	out := map[string]*described{}
	began, launches := Began(st), Launches(st, nil)
	for _, b := range c.Backends {
		if b.Type != sim.Type {
			continue
		}
		s, err := sim.SiteOf(site.Backend(c, b, st.Lineage))
		if err != nil {
			return nil, err
		}
		s.Epoch, s.Launches = began[b.Address()], launches[b.Address()]
		d := &described{Site: s, order: map[string][]string{}}
		for _, p := range c.Phases {
			d.order[p.Name] = slices.Sorted(maps.Keys(s.Says(p.Name).Fails))
		}
		out[b.Address()] = d
	}
	return out, nil
}

// says describes a phase's jobs; nil without a description of the backend.
func (d *described) says(phase string) sim.Says {
	if d == nil {
		return sim.Says{}
	}
	return d.Says(phase)
}

// wait is how long a launch waits in a pool's queue that is so many standard
// deviations off the median.
func (d *described) wait(pool string, z float64) time.Duration {
	for i := range d.Pools {
		if p := &d.Pools[i]; p.Name == pool {
			return sim.Spread(p.Wait, p.WaitP90, z)
		}
	}
	return 0
}

// open reports whether a runtime is known only from the job's request.
func open(r forecast.Runtime) bool {
	return r.Seen == 0 && (r.Expected == 0 || r.Basis == forecast.NoHistory)
}

// runtimeText is "runtimes as backend.sim.x says: half below 30m, nine in ten below 40m".
func runtimeText(backend string, s sim.Says) string {
	if s.P90 <= s.Median {
		return "runtimes as backend." + backend + " says: " + units.FormatDuration(s.Median)
	}
	return "runtimes as backend." + backend + " says: half below " + units.FormatDuration(s.Median) + ", nine in ten below " + units.FormatDuration(s.P90)
}
