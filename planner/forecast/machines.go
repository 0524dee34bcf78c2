package forecast

import (
	"math"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// Jobs on rented machines follow one another there: a machine boots once, its bill is rounded
// once, and it is kept once, after its last job. At most, each launch may have one of its own.

// A fleet is the rented machines of a pool in a simulation, in jobs that they run at once.
type fleet struct {
	busy, booted int64
	ended        time.Duration // the last of the jobs that ran on them
}

// take has n more jobs on the machines; a negative n ends them.
func (f *fleet) take(n int64, now time.Duration) {
	if f == nil {
		return
	}
	if f.busy += n; n < 0 {
		f.ended = now
	}
	f.booted = max(f.booted, f.busy)
}

// idle is how many jobs the machines take that have booted and are kept for so long.
func (f *fleet) idle(now, hold time.Duration) int64 {
	if f == nil {
		return 0
	}
	if now-f.ended > hold {
		f.booted = f.busy
	}
	return f.booted - f.busy
}

// A share is the part that launches pay of the machines that they share with
// others.
type share struct {
	beside int64            // jobs that a machine runs at once
	extra  [2]time.Duration // of boot, hold and rounding, for each launch; expected and p90
}

// A tenant is the jobs of a phase on the rented machines of a pool.
type tenant struct{ phase, pool string }

func tenantOf(phase string, g Group) tenant {
	return tenant{phase, poolKey(g.Decision.Backend, g.Decision.Pool)}
}

// A load is the machines that a tenant, or all of a pool, needs, at one of two levels.
type load struct {
	launches, work float64 // work: time of machines, ns
	machines       int64
}

// extra is the time that each launch pays beside its own, where each machine does the same
// work.
func (l load) extra(d place.Decision) time.Duration {
	if l.launches == 0 {
		return 0
	}
	n := float64(l.machines)
	each := place.Paid(time.Duration(min(l.work/n, math.MaxInt64/4))+d.Around()+d.Hold, d.Price)
	return time.Duration(max(float64(each)*n-l.work, 0) / l.launches)
}

// A sharing adds up who shares rented machines.
type sharing struct {
	in      Input
	pools   map[string]offer.Pool // those that are rented
	alike   map[string]float64
	at      map[tenant]place.Decision
	jobs    map[tenant]int64
	beside  map[tenant]int64
	loads   map[tenant]*[2]load
	tenants []tenant
}

// sharesIn are the shares of launches on rented machines. The machines of a pool are expected
// to serve all its phases; for p90, each phase has machines of its own.
func sharesIn(in Input) map[tenant]*share {
	s := sharing{in: in, pools: map[string]offer.Pool{}, at: map[tenant]place.Decision{}, jobs: map[tenant]int64{}, beside: map[tenant]int64{}, loads: map[tenant]*[2]load{}}
	for _, p := range in.Pools {
		if in.Shared[p.Backend] && p.GPUs > 0 {
			s.pools[poolKey(p.Backend, p.Name)] = p
		}
	}
	if len(s.pools) == 0 {
		return nil
	}
	s.alike = alikeIn(in)
	eachGroup(in, s.count)
	s.rent()
	together := map[string]load{}
	for _, t := range s.tenants {
		all, own := together[t.pool], s.loads[t][expected]
		together[t.pool] = load{all.launches + own.launches, all.work + own.work, min(all.machines+own.machines, machinesOf(s.pools[t.pool]))}
	}
	out := map[tenant]*share{}
	for _, t := range s.tenants {
		out[t] = &share{s.beside[t], [2]time.Duration{expected: together[t.pool].extra(s.at[t]), p90: s.loads[t][p90].extra(s.at[t])}}
	}
	return out
}

func (s *sharing) count(phase string, g Group, n int) {
	t := tenantOf(phase, g)
	pool, rented := s.pools[t.pool]
	if !rented || len(g.Aside) > 0 {
		return
	}
	if s.loads[t] == nil {
		s.loads[t], s.at[t], s.beside[t] = &[2]load{}, g.Decision, math.MaxInt64
		s.tenants = append(s.tenants, t)
	}
	s.beside[t] = min(s.beside[t], beside(pool, g.Decision))
	s.jobs[t] += int64(n)
	for i, lasts := range [2]time.Duration{expected: g.Runtime.Expected, p90: g.Runtime.Average(s.alike[phase])} {
		lasts = g.billed(lasts)
		s.loads[t][i].launches += float64(n * g.launches(lasts))
		s.loads[t][i].work += float64(lasts) * float64(n)
	}
}

// rent counts the machines of each tenant: as many as its jobs fill within the caps.
func (s *sharing) rent() {
	caps := map[string]int{}
	for _, p := range s.in.Phases {
		caps[p.Name] = p.Cap
	}
	for _, t := range s.tenants {
		jobs, beside := s.jobs[t], s.beside[t]
		for _, most := range []int{caps[t.phase], s.in.CampaignCap, s.in.BackendCaps[s.at[t].Backend]} {
			if most > 0 {
				jobs = min(jobs, int64(most))
			}
		}
		for i := range s.loads[t] {
			s.loads[t][i].work /= float64(beside)
			s.loads[t][i].machines = min((jobs+beside-1)/beside, machinesOf(s.pools[t.pool]))
		}
	}
}

// machinesOf is how many machines of a pool are rented at once.
func machinesOf(p offer.Pool) int64 { return max(int64(p.Total/p.GPUs), 1) }

// beside is how many jobs of a decision a machine of a pool runs at once, at least 1. Each has
// a GPU.
func beside(p offer.Pool, d place.Decision) int64 {
	c := capacity{unlimited, int64(p.GPUs), unlimited, unlimited}
	if p.CPUs > 0 {
		c.cpus = int64(p.CPUs)
	}
	if p.Memory > 0 {
		c.memory = p.Memory
	}
	n := c.counted(need(p, d))
	n.gpus = max(n.gpus, 1)
	return max(c.room(n), 1)
}

// charged is the cost of a launch of a duration, expected or at p90. Its hours are its own.
func (s *share) charged(level int, d place.Decision, t time.Duration) (amounts map[string]decimal.Decimal, known place.Known) {
	amounts, known = place.Cost(d.Shape, d.Price, t)
	price := d.Price
	price.Granularity, price.Minimum = 0, 0
	bill, _ := place.Cost(d.Shape, price, t/time.Duration(s.beside)+s.extra[level])
	if v, ok := bill[place.USD]; ok {
		amounts[place.USD] = v
	}
	return amounts, known
}
