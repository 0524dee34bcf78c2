package refresh

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/apply/source"
	"github.com/muster-run/muster/planner/observed"
)

// Bounds of the sources that a plan compares with their copies on hosts.
// Comparing one takes as long as hashing it there; larger ones are compared
// before their jobs start, as all are.
const (
	copiedFiles = 1000
	copiedBytes = 64 << 20
)

// Copies of the source are looked at where backends have them.
type copies struct {
	*facts
	answers *answers
	sources *sources
}

// compare compares copies of the source with the source: edits in place are reported before
// any approval.
func (c *copies) compare(ctx context.Context, a *ask) error {
	if !c.Copies || a.lang == nil {
		return nil
	}
	select {
	case <-c.sources.done:
	case <-ctx.Done():
		return nil // it was asked everything else
	}
	type place struct{ key, files string }
	seen := map[place]error{}
	for _, name := range a.phases() {
		p := c.phase(name)
		if p == nil || p.Source == nil || c.idle[name] {
			continue
		}
		t, ok := c.sources.trees[p.Source.Key()]
		if !ok || len(t.Files) > copiedFiles || t.Bytes > copiedBytes {
			continue
		}
		for _, pool := range a.offers {
			at := site.FilesystemOf(a.conf, a.offers, pool.Name)
			key := place{p.Source.Key(), at.Files()}
			err, known := seen[key]
			if !known {
				var far source.Shore
				to := source.In(at.Workdir, t.Digest)
				if a.can.Remote {
					far = source.ShoreOf(a.p, at.Name())
				} else if rel, err := filepath.Rel(c.Campaign.Dir, to); err == nil && filepath.IsLocal(rel) && c.reads(to, "") != nil {
					continue // a link of the checkout leads out of it
				}
				err = source.Drift(ctx, t, to, far)
				seen[key] = err
			}
			var drift *source.DriftError
			switch {
			case errors.As(err, &drift):
				c.drifted(a, name, drift)
			default: // whoever could not be asked is asked again before jobs start there
				continue
			}
			break // once for a phase and a backend
		}
	}
	return nil
}

func (c *copies) drifted(a *ask, phase string, drift *source.DriftError) {
	f := observed.Finding{Phase: phase, On: a.name, Diagnostic: diag.Diagnostic{Summary: "A copy of the source was edited in place",
		Detail: "On backend." + a.name + " " + drift.Error() + ".", Address: "phase." + phase}}
	if p := c.phase(phase); p != nil {
		f.Subject = p.Range.Ptr()
	}
	c.answers.find(f)
}

// phases are those whose jobs may go to the backend, each once.
func (a *ask) phases() (out []string) {
	for _, g := range a.groups {
		if !slices.Contains(out, g.Phase) {
			out = append(out, g.Phase)
		}
	}
	return out
}
