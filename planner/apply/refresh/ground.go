package refresh

import (
	"context"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/guard"
	"github.com/muster-run/muster/providers/wrapper/verify"
	"github.com/muster-run/muster/state"
)

// groundMax is how many outputs one Verify call looks at.
const groundMax = 2000

// Grounds are the files at the paths where jobs will write.
type grounds struct {
	*facts
	answers *answers
}

// look lists the files at the output paths of jobs that may start, on each spot where they
// may. It lists folders of this machine itself; providers list others.
func (gs *grounds) look(ctx context.Context, a *ask) error {
	if !gs.Refresh || gs.Options.Destroy || gs.Options.RefreshOnly || a.lang == nil {
		return nil
	}
	seen := map[string]observed.Ground{}
	for _, pool := range poolNames(a.offers) {
		spot := site.FilesystemOf(a.conf, a.offers, pool)
		g, looked := seen[spot.Files()]
		if !looked {
			var err error
			if g, err = gs.at(ctx, a, spot); err != nil {
				return err
			}
			if err = gs.adoptable(ctx, a, spot, &g); err != nil {
				return err
			}
			if len(g.There) > 0 {
				g.Names = gs.names(ctx, a, spot, &g)
				g.Campaigns = site.Others(ctx, a.p, spot, gs.State.Lineage, site.TenantOf(gs.Campaign))
			}
			seen[spot.Files()] = g
		}
		if len(g.There) == 0 {
			continue
		}
		gs.answers.Lock()
		gs.answers.Observed.Ground[providers.At(a.name, pool)] = g
		gs.answers.Unlock()
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

// found is an answer under the name and path that were asked for. Where it is a file in place
// of a pattern's folder, its path is that of the folder.
func (l lookout) found(o offer.Output) offer.Output {
	if o.Name, o.Path = l.out.Name, l.out.Path; o.Files == 0 {
		o.Path = existing(lang.OutputKind(l.out.Kind), l.out.Path)
	}
	return o
}

func (gs *grounds) at(ctx context.Context, a *ask, at site.Filesystem) (observed.Ground, error) {
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
				g.There[address] = append(g.There[address], batch[i].found(got[i]))
			}
		}
		batch = batch[:0]
		return err
	}
	for _, q := range a.groups {
		p := gs.phase(q.Phase)
		if p == nil || q.Smoke || gs.idle[q.Phase] {
			continue
		}
		var err error
		gs.each(p, q, func(i int) bool {
			if !gs.mayStart(p, q, i) {
				return true
			}
			for k, d := range p.Outputs {
				rel := p.OutputPath(i, d.Name, lang.Run)
				if !there(existing(d.Kind, rel)) {
					continue
				}
				batch = append(batch, lookout{p.Address(i), jobspec.Output(p.Outputs[k], d.Name, rel)})
			}
			if c := p.CheckpointPath(i, at.Workdir); c != "" && there(existing(p.Checkpoint.Kind, c)) {
				batch = append(batch, lookout{p.Address(i), guard.Checkpoint(at.Workdir, providers.Checkpoint{Path: c, Glob: p.Checkpoint.Kind == lang.Glob})})
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

// Limits of the existing files that a plan lists: patterns and folders, files of each, and the
// size of a file.
const (
	namedSets  = 5
	namedFiles = 3
	namedMax   = 10_000
)

// names are the first files of patterns and folders that no record names: a yes to a pattern is
// a yes to files. It is empty where the backend cannot list them now.
func (gs *grounds) names(ctx context.Context, a *ask, at site.Filesystem, g *observed.Ground) map[string][]string {
	var sets, patterns []string
	for _, address := range slices.Sorted(maps.Keys(g.There)) {
		for _, o := range g.There[address] {
			if o.Files == 0 || o.Files > namedMax || len(sets) == namedSets || gs.recorded(address, o.Path) {
				continue
			}
			pattern := o.Path
			if jobspec.KindOf(&state.Output{Path: o.Path, Files: o.Files}) == lang.Dir {
				pattern = path.Join(o.Path, "**")
			}
			sets, patterns = append(sets, o.Path), append(patterns, staging.Absolute(at.Workdir, pattern))
		}
	}
	if len(sets) == 0 {
		return nil
	}
	files, err := a.p.List(ctx, at.Name(), patterns)
	if err != nil {
		return nil // the count is known
	}
	out := map[string][]string{}
	for _, fi := range files {
		for k, set := range sets {
			if ok, _ := doublestar.Match(patterns[k], fi.Path); ok && len(out[set]) < namedFiles {
				out[set] = append(out[set], strings.TrimPrefix(fi.Path, strings.TrimSuffix(at.Workdir, "/")+"/"))
				break
			}
		}
	}
	return out
}

func (gs *grounds) recorded(address, at string) bool {
	j := gs.State.Jobs[address]
	return j != nil && slices.ContainsFunc(j.Outputs, func(o state.Output) bool { return o.Path == at })
}

// existing is the path that must be there for anything of an output to be: of a
// pattern the folder before its first wildcard.
func existing(kind lang.OutputKind, rel string) string {
	if kind != lang.Glob {
		return rel
	}
	head, _ := doublestar.SplitPattern(rel)
	return head
}
