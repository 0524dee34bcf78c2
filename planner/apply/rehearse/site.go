package rehearse

import (
	"strings"
	"time"

	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/sim"
	"github.com/muster-run/muster/state"
)

// site stands in for a backend: its pools as the plan saw them.
func (s *Stage) site(b providers.Backend, can offer.Capabilities, nth int) sim.Site {
	out := sim.Site{Can: can, Model: s.model(nth), Known: s.known, Present: s.present[b.Name]}
	ours := map[string]int64{}
	for _, p := range s.present[b.Name] {
		if p.Running {
			ours[p.Job.Pool] += int64(p.Job.Shape.GPUs)
		}
	}
	for _, p := range s.in.Pools {
		if p.Backend != b.Name {
			continue
		}
		room := forecast.RoomOf(p, ours[p.Name])
		out.Pools = append(out.Pools, sim.Pool{Pool: p, Boot: s.boot(b.Name, p.Name), Slots: room.Jobs, Devices: room.Devices, Cores: room.Cores, Bytes: room.Memory})
	}
	if len(out.Pools) == 0 { // it could not be asked
		out.Pools = []sim.Pool{{Pool: offer.Pool{Backend: b.Name}}}
	}
	return out
}

// boot is how long a pool's machines take to come up, as the plan has it.
func (s *Stage) boot(backend, pool string) (d time.Duration) {
	for _, p := range s.plan.Phases {
		for i := range p.Placements {
			if at := &p.Placements[i]; at.Backend == backend && at.Pool == pool {
				d = max(d, at.Boot)
			}
		}
	}
	return d
}

// inFlight are the jobs that backends have, by backend.
func inFlight(in Input) map[string][]sim.Present {
	out := map[string][]sim.Present{}
	for _, j := range in.State.InFlight() {
		a := j.Last()
		if a == nil {
			continue
		}
		token, _, _ := strings.Cut(a.Token, "/")
		job := providers.Job{Token: token, Address: j.Address, Phase: j.Phase, Smoke: j.Smoke, Attempt: a.N, Pool: a.Pool}
		if p, err := addr.Parse(j.Address); err == nil {
			for _, pp := range in.Plan.Phases {
				if i, ok := pp.Phase.Index(p.Key); ok && pp.Phase.Name == j.Phase {
					job.Shape = pp.Phase.Requests(0)[pp.Phase.RequestOf(i, 0)].Shape
				}
			}
		}
		running := j.Status == state.Running || j.Status == state.Verifying
		out[a.Backend] = append(out[a.Backend], sim.Present{Job: job, Running: running, Since: a.Started})
	}
	return out
}
