package planner

import (
	"maps"
	"slices"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner/warnings"
	"github.com/muster-run/muster/providers/offer"
)

// headBackends are the lines about backends at the head of the plan: those that
// are used, that bill, or that cannot be asked.
func headBackends(fs *facts, ps phases, used map[string]bool) (views []BackendView, diags diag.List) {
	used = maps.Clone(used)
	backends, away := fs.in.Campaign.Backends, fs.in.Observed.Unreachable
	for _, r := range warnings.ByHand(fs.st.Rentals, backends) { // billed there, and given back by its own record
		if r.Rented() {
			used[r.Backend] = true
		}
	}
	for _, b := range backends {
		if _, is := away[b.Address()]; is && !b.Implied {
			used[b.Address()] = true
		}
	}
	if len(used) > 1 { // nobody wrote of this machine, and there is nothing to say of it
		for _, b := range backends {
			if b.Implied && away[b.Address()] == "" {
				delete(used, b.Address())
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if name == "" {
			continue
		}
		v, old := backendView(fs, ps, name)
		views = append(views, v)
		diags.Append(old...)
	}
	return views, diags
}

// backendView is the line about one backend: the free part of the plan's places, and how old
// the facts are. The list warns of old ones.
func backendView(fs *facts, ps phases, name string) (BackendView, diag.List) {
	v, months := summarize(name, waited(fs.in.Pools, ps, name), poolsInUse(ps, name))
	v.Problem = fs.in.Observed.Unreachable[name]
	var diags diag.List
	c := fs.in.Campaign
	for _, month := range v.Stated(c.Backends, months) {
		if d := oldFacts(&c.Policy, c.Backends, name, month, fs.in.Now); d != nil {
			diags.Append(*d)
		}
	}
	for _, w := range ps.drafts {
		for _, d := range w.pp.Placements {
			if d.Backend == name && d.Fallback != "" && v.Fallback == "" {
				v.Fallback = d.Fallback
			}
		}
	}
	return v, diags
}

// waited are the pools, with the wait that the plan counts where its work goes:
// schedulers quote one for each shape, and none for a pool.
func waited(pools []offer.Pool, ps phases, backend string) []offer.Pool {
	waits := map[string]time.Duration{}
	for _, w := range ps.drafts {
		for _, d := range w.pp.Placements {
			if d.Backend == backend {
				waits[d.Pool] = max(waits[d.Pool], d.Wait)
			}
		}
	}
	pools = slices.Clone(pools)
	for i := range pools {
		if p := &pools[i]; p.Backend == backend && waits[p.Name] > 0 {
			p.Wait = waits[p.Name]
		}
	}
	return pools
}

func poolsInUse(ps phases, backend string) map[string]bool {
	out := map[string]bool{}
	for _, w := range ps.drafts {
		for at, d := range w.pp.Placements {
			if at > 0 && d.Backend == backend {
				out[d.Pool] = true
			}
		}
	}
	return out
}

// lookFirst refuses to delete files or release machines by old facts: somebody
// must have looked at them just now.
func lookFirst(fs *facts, deletions []Deletion, loose []Row) diag.List {
	doomed := map[string]bool{}
	for _, d := range deletions {
		doomed[d.Backend] = true
	}
	for _, r := range loose {
		if r.Release {
			doomed[r.Backend] = true
		}
	}
	c := fs.in.Campaign
	return unaskedDeletion(&c.Policy, c.Backends, fs.in.Pools, doomed, fs.in.Observed.Asked, fs.in.Now)
}
