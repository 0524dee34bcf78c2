package refresh

import (
	"context"
	"slices"

	"github.com/muster-run/muster/planner/apply/restore"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/state"
)

// replaced looks which results that were replaced are still there.
func (o *observer) replaced(ctx context.Context, a *ask) error {
	if o.Options.Destroy || o.Options.RefreshOnly {
		return nil
	}
	by := map[site.Spot][]*state.Replaced{}
	for _, r := range a.replaced {
		pool := ""
		if at := r.Job.Last(); at != nil && at.Backend == a.name {
			pool = at.Pool
		}
		if site.Gone(a.conf, pool) && pool != "" {
			continue
		}
		spot := site.SpotOf(a.conf, a.offers, pool)
		by[spot] = append(by[spot], r)
	}
	for spot, rs := range by {
		at, err := restore.Place{Files: a.p, Backend: spot.Name(), Workdir: spot.Workdir}.Find(ctx, rs, false)
		if err != nil {
			return err
		}
		o.mu.Lock()
		for i, r := range rs {
			if !slices.Contains(at[i], "") {
				o.out.Observed.Replaced[r.Token()] = true
			}
		}
		o.mu.Unlock()
	}
	return nil
}
