package refresh

import (
	"context"
	"slices"

	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/state"
)

// replaced looks which results that were replaced are still there.
func (as *asker) replaced(ctx context.Context, a *ask) error {
	if as.Options.Destroy || as.Options.RefreshOnly {
		return nil
	}
	by := map[site.Filesystem][]*state.Replaced{}
	for _, r := range a.replaced {
		pool := ""
		if at := r.Job.Last(); at != nil && at.Backend == a.name {
			pool = at.Pool
		}
		if site.Gone(a.conf, pool) && pool != "" {
			continue
		}
		spot := site.FilesystemOf(a.conf, a.offers, pool)
		by[spot] = append(by[spot], r)
	}
	for spot, rs := range by {
		at, err := staging.Restorer{Files: a.p, Backend: spot.Name(), Workdir: spot.Workdir}.Find(ctx, rs, false)
		if err != nil {
			return err
		}
		as.answers.Lock()
		for i, r := range rs {
			if !slices.Contains(at[i], "") {
				as.answers.Observed.Replaced[r.Token()] = true
			}
		}
		as.answers.Unlock()
	}
	return nil
}
