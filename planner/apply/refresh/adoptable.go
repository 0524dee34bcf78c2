package refresh

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// adoptable verifies, of the jobs that an import block names and whose files are
// there, every output. Files are opened up to readAtOnce bytes in all, or all of them
// if asked; of the others their size is known.
func (gs *grounds) adoptable(ctx context.Context, a *ask, at site.Filesystem, g *observed.Ground) error {
	left := int64(readAtOnce)
	var open, rest []candidate
	for _, p := range gs.Campaign.Phases {
		for i := range p.Len() {
			there := g.There[p.Address(i)]
			if len(there) == 0 || !gs.imports(p, i, a.name) {
				continue
			}
			c := candidate{p, i}
			size := int64(0)
			for _, f := range there {
				size += f.Size
			}
			if left -= size; left >= 0 || gs.Adopt || gs.Verify {
				open = append(open, c)
			} else {
				left += size
				rest = append(rest, c)
			}
		}
	}
	if len(open)+len(rest) == 0 {
		return nil
	}
	g.Verified = map[string][]offer.Output{}
	if err := gs.verifyAll(ctx, a, at, g, open, true); err != nil {
		return err
	}
	return gs.verifyAll(ctx, a, at, g, rest, false)
}

// A candidate is a job whose files may be adopted.
type candidate struct {
	p    *lang.Phase
	cell int
}

// imports reports whether an import block adopts a job's files on a backend.
func (gs *grounds) imports(p *lang.Phase, cell int, backend string) bool {
	return slices.ContainsFunc(gs.Campaign.Imports, func(im lang.Import) bool {
		return im.Files() && (im.Backend == "" || im.Backend == backend) && im.Covers(p, cell)
	})
}

func (gs *grounds) verifyAll(ctx context.Context, a *ask, at site.Filesystem, g *observed.Ground, all []candidate, open bool) error {
	for len(all) > 0 {
		n := min(len(all), groundMax)
		v := providers.VerifyRequest{Backend: at.Name(), Workdir: at.Workdir, Open: open}
		for _, c := range all[:n] {
			for _, out := range jobspec.Declared(c.p, c.cell) {
				out.Verify = slices.DeleteFunc(out.Verify, func(c providers.VerifyCheck) bool { return c.Kind == "command" }) // a plan runs none
				v.Outputs = append(v.Outputs, out)
			}
		}
		if open && a.conf.Type == localType {
			for _, out := range v.Outputs {
				if filepath.IsAbs(out.Path) && gs.reads(filepath.Dir(out.Path), "output "+out.Name) != nil {
					v.Open = false
				}
			}
		}
		got, err := a.p.Verify(ctx, v)
		if err != nil {
			return err
		}
		for _, c := range all[:n] {
			k := min(len(c.p.Outputs), len(got))
			g.Verified[c.p.Address(c.cell)], got = got[:k:k], got[k:]
		}
		all = all[n:]
	}
	return nil
}
