package rehearse

import (
	"time"

	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/sim"
)

// site simulates a backend: its pools as the plan saw them.
func (s *Stage) site(b providers.Backend, can offer.Capabilities, nth int, visits *int) sim.Site {
	out := sim.Site{Can: can, Model: s.model(b.Name, nth, visits), Known: s.known, Present: s.present[b.Name]}
	if d := s.places[b.Name]; d != nil {
		out.Outages, out.Prices, out.Epoch, out.Launches = d.Outages, d.Prices, d.Epoch, d.Launches
	}
	var mine []offer.Pool
	for _, p := range s.in.Pools {
		if p.Backend != b.Name {
			continue
		}
		mine = append(mine, p)
		ours := int64(0)
		for _, running := range s.present[b.Name] {
			if running.Running && running.Job.Pool == p.Name {
				ours += forecast.Held(p, running.Job.Shape)
			}
		}
		room := forecast.RoomOf(p, ours)
		boot, kept := s.boot(b.Name, p.Name)
		out.Pools = append(out.Pools, sim.Pool{Pool: p, Boot: boot, Shared: can.Rents, Kept: kept, Slots: room.Jobs, Devices: room.Devices, Cores: room.Cores, Bytes: room.Memory})
	}
	if len(out.Pools) == 0 { // it could not be asked
		out.Pools = []sim.Pool{{Pool: offer.Pool{Backend: b.Name}}}
	}
	out.Files = func(pool string) string { return site.FilesystemOf(b, mine, pool).Files() }
	out.Bandwidth, out.Existing = s.links[b.Name].bytes, s.existing[b.Name]
	return out
}

// boot is how long a pool's machines take to come up, and how long they are kept after their
// last job, as the plan has it.
func (s *Stage) boot(backend, pool string) (boot, kept time.Duration) {
	for _, p := range s.plan.Phases {
		for i := range p.Placements {
			if at := &p.Placements[i]; at.Backend == backend && at.Pool == pool {
				boot, kept = max(boot, at.Boot), max(kept, at.Hold)
			}
		}
	}
	return boot, kept
}
