package apply

import (
	"context"
	"path"

	"github.com/muster-run/muster/planner/apply/source"
)

// code is the source of a phase, shipped to the backends that run it.
type code struct {
	digest string
	ready  bool
	why    string // why it is not, for good
}

// dir is the read-only copy below a workdir, "" without a source.
func (c *code) dir(workdir string) string {
	if c.digest == "" {
		return ""
	}
	return path.Join(workdir, ".muster", "source", c.digest)
}

// ship copies the source of every phase that has work to where it runs. A
// phase starts nothing before its code is there.
func (e *engine) ship() {
	type place struct {
		b      *backend
		digest string
	}
	wanted := map[place][]*phase{}
	for _, p := range e.phases {
		if p.Source == nil || p.plan.Source.Digest == "" {
			p.code.ready = true
			continue
		}
		p.code.digest = p.plan.Source.Digest
		if p.counts[done]+p.counts[skipped]+p.counts[skippedDone] == len(p.at) && len(p.gate.order) == 0 {
			p.code.ready = true
			continue
		}
		for _, b := range e.placesOf(p) {
			k := place{b, p.code.digest}
			wanted[k] = append(wanted[k], p)
		}
	}
	left := map[*phase]int{}
	for k, ps := range wanted {
		for _, p := range ps {
			left[p]++
		}
		e.shippings++
		spec := source.Of(e.Campaign, ps[0].Source)
		e.spawn(func() {
			err := shipTo(e.ctx, k.b, spec, k.digest)
			e.post(func() {
				e.shippings--
				for _, p := range ps {
					if err != nil {
						p.code.why = err.Error()
						e.report.note(e, "phase."+p.Name, "phase."+p.Name+" cannot start: "+err.Error(), true)
						continue
					}
					if left[p]--; left[p] == 0 {
						p.code.ready = true
					}
				}
			})
		})
	}
}

// placesOf are the backends that a phase's plan names.
func (e *engine) placesOf(p *phase) []*backend {
	seen := map[string]bool{}
	for i := range p.plan.Placements {
		if i > 0 {
			seen[p.plan.Placements[i].Backend] = true
		}
	}
	if g := p.plan.Smoke; g != nil && g.Place.Backend != "" {
		seen[g.Place.Backend] = true
	}
	var out []*backend
	for _, name := range sortedKeys(seen) {
		if b := e.backends[name]; b != nil {
			out = append(out, b)
		}
	}
	return out
}

func (e *engine) shipping() bool { return e.shippings > 0 }

// shipTo puts a tree where a backend's jobs read it. A copy that is there is
// left alone: its name is its content.
func shipTo(ctx context.Context, b *backend, spec source.Spec, digest string) error {
	to := path.Join(b.conf.Workdir, ".muster", "source", digest)
	if !b.can.Remote {
		return source.Copy(ctx, spec, digest, to)
	}
	return source.Push(ctx, spec, digest, to, func(ctx context.Context, file source.File, dest string) error {
		f, err := file.Open()
		if err != nil {
			return err
		}
		defer f.Close()
		return b.p.Push(ctx, b.name, dest, file.Size, file.Digest, f)
	}, func(ctx context.Context, pattern string) (bool, error) {
		files, err := b.p.List(ctx, b.name, []string{pattern})
		return len(files) > 0, err
	})
}
