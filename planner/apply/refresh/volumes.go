package refresh

import (
	"fmt"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A volume is where jobs of a backend leave their files; one check asks for
// the room that they need there.
type volume struct {
	check providers.Check
	phase string // "" = more than one
	sum   string // how the need comes about
}

// volumes are those of a backend's pools. The outputs of jobs add up; the
// `disk` of a job is needed once for each job that runs there at once, beside
// the results of the others. Only phases that run nowhere else count.
func (pf *preflight) volumes(a *ask) (out []volume) {
	left := pf.leavings(a)
	if len(left) == 0 || len(a.offers) == 0 {
		return nil
	}
	var names []string
	by := map[string][]offer.Pool{}
	for _, p := range a.offers {
		if by[p.Filesystem] == nil {
			names = append(names, p.Filesystem)
		}
		by[p.Filesystem] = append(by[p.Filesystem], p)
	}
	for _, name := range names {
		v := pf.need(a, left, by[name])
		v.check.Workdir = site.AtHome(a.conf.Workdir, a.offers, by[name][0].Name)
		if len(names) > 1 {
			v.check.Pool = by[name][0].Name
		}
		if v.check.Disk > 0 || v.check.Keep > 0 || v.check.Jobs > 0 {
			out = append(out, v)
		}
	}
	return out
}

// need is how much the remaining jobs need on the volume of some pools of a
// backend.
func (pf *preflight) need(a *ask, left map[string]*made, pools []offer.Pool) (v volume) {
	var rest, keep int64 // bytes by the end: expected, and as declared
	var writes []*lang.Phase
	for _, p := range pf.Campaign.Phases {
		m := left[p.Name]
		if m == nil || pf.idle[p.Name] {
			continue
		}
		share := pf.share(a, pools, m.open(p))
		v.check.Files += share * m.eachFiles(p)
		v.check.Jobs += share
		if share > 0 {
			writes = append(writes, p)
		}
		if n := share * m.each(p); n > 0 {
			rest += n
			v.of(p)
		}
	}
	var most int64
	for _, g := range a.groups {
		p, m := pf.phase(g.Phase), left[g.Phase]
		if m == nil || pf.idle[g.Phase] || g.Shape.Disk == 0 {
			continue
		}
		jobs := pf.share(a, pools, min(int64(g.Cells), m.open(p)))
		once := min(pf.atOnce(a, p, g, pools), jobs)
		if n := once * max(g.Shape.Disk-m.each(p), 0); n > most {
			most, v.sum = n, sum(once, g)
			v.of(p)
		}
		if m.jobs == 0 && !g.Smoke { // its outputs are not known yet
			keep += jobs * max(g.Shape.Disk-m.each(p), 0)
		}
	}
	if len(v.check.Addresses) == 0 { // none says how large its files are
		for _, p := range writes {
			v.of(p)
		}
	}
	v.check.Disk = rest + most
	if keep > most {
		v.check.Keep = rest + keep
	}
	return v
}

// of notes that a phase has a part in the need.
func (v *volume) of(p *lang.Phase) {
	switch {
	case len(v.check.Addresses) == 0:
		v.phase = p.Name
	case v.phase != p.Name:
		v.phase = ""
	}
	v.check.Addresses = append(v.check.Addresses, "phase."+p.Name)
}

func sum(once int64, g jobGroup) string {
	if once == 1 {
		return fmt.Sprintf("One job of phase.%s asks for %s", g.Phase, units.FormatSize(g.Shape.Disk))
	}
	return fmt.Sprintf("%d jobs of phase.%s run there at once, and each asks for %s: a smaller max_parallel needs less", once, g.Phase, units.FormatSize(g.Shape.Disk))
}

// atOnce is how many jobs of a group run at once on some pools.
func (pf *preflight) atOnce(a *ask, p *lang.Phase, g jobGroup, pools []offer.Pool) (n int64) {
	if g.Smoke {
		return 1
	}
	for _, pool := range pools {
		n += forecast.AtOnce(pool, place.Decision{Backend: a.name, Pool: pool.Name, Shape: g.Shape})
	}
	for _, limit := range []int{p.MaxParallel, pf.Campaign.MaxParallel, a.lang.MaxParallel} {
		if limit > 0 {
			n = min(n, int64(limit))
		}
	}
	return n
}

// share is how many of a backend's jobs come to some of its pools, where each
// gets as many as it has room for.
func (pf *preflight) share(a *ask, pools []offer.Pool, jobs int64) int64 {
	size := func(list []offer.Pool) (n int64) {
		for _, p := range list {
			n += int64(max(p.MaxJobs, 1))
		}
		return n
	}
	return jobs * size(pools) / size(a.offers)
}
