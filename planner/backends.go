package planner

import (
	"slices"
	"time"

	"github.com/muster-run/muster/planner/heads"
	"github.com/muster-run/muster/providers/offer"
)

// A BackendView is the line about a backend at the head of the plan.
type BackendView = heads.View

// waited are the pools, with the wait that the plan counts where its work goes:
// schedulers quote one for each shape, and none for a pool.
func (m *maker) waited(backend string) []offer.Pool {
	waits := map[string]time.Duration{}
	for _, w := range m.works {
		for _, d := range w.pp.Placements {
			if d.Backend == backend {
				waits[d.Pool] = max(waits[d.Pool], d.Wait)
			}
		}
	}
	pools := slices.Clone(m.in.Pools)
	for i := range pools {
		if p := &pools[i]; p.Backend == backend && waits[p.Name] > 0 {
			p.Wait = waits[p.Name]
		}
	}
	return pools
}

// backendView is the line about one backend: what is free where this plan
// goes, and how old the facts are.
func (m *maker) backendView(name string) BackendView {
	v, months := heads.Of(name, m.waited(name), m.poolsInUse(name))
	v.Problem = m.in.Observed.Unreachable[name]
	for _, month := range v.Stated(m.in.Campaign.Backends, months) {
		if d := heads.Old(&m.in.Campaign.Policy, m.in.Campaign.Backends, name, month, m.in.Now); d != nil {
			m.diags.Append(*d)
		}
	}
	for _, w := range m.works {
		for _, d := range w.pp.Placements {
			if d.Backend == name && d.Fallback != "" && v.Fallback == "" {
				v.Fallback = d.Fallback
			}
		}
	}
	return v
}

// lookFirst refuses to delete and to give back, by old facts, what nobody looked
// at just now.
func (m *maker) lookFirst() {
	doomed := map[string]bool{}
	for _, d := range m.plan.Deletions {
		doomed[d.Backend] = true
	}
	for _, r := range m.plan.Loose {
		if r.Release {
			doomed[r.Backend] = true
		}
	}
	c := m.in.Campaign
	m.diags.Append(heads.Unasked(&c.Policy, c.Backends, m.in.Pools, doomed, m.in.Observed.Asked, m.in.Now)...)
}

func (m *maker) poolsInUse(backend string) map[string]bool {
	out := map[string]bool{}
	for _, w := range m.works {
		for at, d := range w.pp.Placements {
			if at > 0 && d.Backend == backend {
				out[d.Pool] = true
			}
		}
	}
	return out
}
