package refresh

import (
	"context"
	"os"
	"path/filepath"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/sheet"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/planner/questions"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/guard"
	"github.com/muster-run/muster/providers/wrapper/verify"
	"github.com/muster-run/muster/state"
)

// groundMax is how many outputs one Verify call looks at.
const groundMax = 2000

// ground looks at what is at the output paths of jobs that may start, on each
// spot where they may. Folders of this machine are listed here; others are
// listed by who serves the backend.
func (o *observer) ground(ctx context.Context, a *ask) error {
	if !o.Refresh || o.Options.Destroy || o.Options.RefreshOnly || a.lang == nil {
		return nil
	}
	seen := map[string]observed.Ground{}
	for _, pool := range poolNames(a.offers) {
		spot := site.SpotOf(a.conf, a.offers, pool)
		g, looked := seen[spot.Files()]
		if !looked {
			var err error
			if g, err = o.groundOf(ctx, a, spot); err != nil {
				return err
			}
			if len(g.There) > 0 {
				g.Campaigns = site.Others(ctx, a.p, spot, o.State.Lineage, o.tenant())
			}
			seen[spot.Files()] = g
		}
		if len(g.There) == 0 {
			continue
		}
		o.mu.Lock()
		o.out.Observed.Ground[providers.At(a.name, pool)] = g
		o.mu.Unlock()
	}
	return nil
}

func poolNames(pools []offer.Pool) []string {
	if len(pools) == 0 {
		return []string{""}
	}
	var out []string
	for _, p := range pools {
		out = append(out, p.Name)
	}
	return out
}

// A lookout is one output that is looked at, and whose.
type lookout struct {
	address string
	out     providers.Output
}

func (o *observer) groundOf(ctx context.Context, a *ask, at site.Spot) (observed.Ground, error) {
	g := observed.Ground{Workdir: at.Workdir, There: map[string][]offer.Output{}}
	there := func(string) bool { return true }
	if a.conf.Type == "local" && filepath.IsAbs(at.Workdir) {
		there = verify.NewFolders(at.Workdir).Has
	}
	var batch []lookout
	send := func() error {
		v := providers.VerifyRequest{Backend: at.Name(), Workdir: at.Workdir, Outputs: make([]providers.Output, len(batch))}
		for i := range batch {
			v.Outputs[i] = batch[i].out
		}
		got, err := a.p.Verify(ctx, v)
		for i := range got {
			if i < len(batch) && got[i].Exists() {
				address := batch[i].address
				got[i].Name, got[i].Path = batch[i].out.Name, batch[i].out.Path
				g.There[address] = append(g.There[address], got[i])
			}
		}
		batch = batch[:0]
		return err
	}
	for _, q := range a.groups {
		p := o.phase(q.Phase)
		if p == nil || q.Smoke || o.idle[q.Phase] {
			continue
		}
		var err error
		o.each(p, q, func(i int) bool {
			if !o.mayStart(p, q, i) {
				return true
			}
			for k, d := range p.Outputs {
				rel := p.OutputPath(i, d.Name, lang.Run)
				if !there(existing(d, rel)) {
					continue
				}
				batch = append(batch, lookout{p.Address(i), sheet.Output(p.Outputs[k], d.Name, rel)})
			}
			if c := p.CheckpointPath(i, at.Workdir); c != "" && there(c) {
				batch = append(batch, lookout{p.Address(i), guard.Checkpoint(at.Workdir, c)})
			}
			if len(batch) >= groundMax {
				err = send()
			}
			return err == nil
		})
		if err != nil {
			return g, err
		}
	}
	if len(batch) > 0 {
		if err := send(); err != nil {
			return g, err
		}
	}
	return g, nil
}

// existing is the path that must be there for anything of an output to be: of a
// pattern the folder before its first wildcard.
func existing(d *lang.Output, rel string) string {
	if d.Kind != lang.Glob {
		return rel
	}
	head, _ := doublestar.SplitPattern(rel)
	return head
}

// mayStart reports whether a plan may start a job under a new token: it has not
// completed as it is defined now, and none of it runs.
func (o *observer) mayStart(p *lang.Phase, g questions.Group, i int) bool {
	if o.State == nil || len(o.State.Jobs) == 0 {
		return true
	}
	j := o.State.Jobs[p.Address(i)]
	if j == nil {
		return true
	}
	switch j.Status {
	case state.Running, state.Verifying:
		return false
	}
	return !o.done(p, g, i)
}

// tenant is this campaign as it would sign a workdir.
func (o *observer) tenant() site.Tenant {
	host, _ := os.Hostname()
	return site.Tenant{Campaign: o.Campaign.Name, Dir: o.Campaign.Dir, Host: host}
}
