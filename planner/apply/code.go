package apply

import (
	"context"
	"errors"
	"io"
	"path"

	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/apply/source"
	"github.com/muster-run/muster/providers"
)

// code is the source of a phase.
type code struct {
	digest string // "" without a source
}

// dir is the read-only copy below a workdir, "" without a source.
func (c *code) dir(workdir string) string {
	if c.digest == "" {
		return ""
	}
	return path.Join(workdir, ".muster", "source", c.digest)
}

// A shipment is a source on its way to a spot. Nothing that reads it starts
// there before it has arrived.
type shipment struct {
	spec    source.Spec
	digest  string
	b       *backend
	at      site.Spot
	tries   int
	arrived bool
	err     error // it cannot arrive
}

type shipmentKey struct{ digest, files, workdir string }

// loadCode notes what source each phase has, and begins to ship what the plan
// needs.
func (e *engine) loadCode() {
	for _, p := range e.phases {
		if p.Source == nil || p.plan.Source.Digest == "" {
			continue
		}
		p.code.digest = p.plan.Source.Digest
		if p.Counts[cells.Done]+p.Counts[cells.Skipped]+p.Counts[cells.SkippedDone] == len(p.At) && len(p.gate.Order) == 0 {
			continue
		}
		for i := range p.plan.Placements {
			if d := &p.plan.Placements[i]; i > 0 && e.contacts[d.Backend] != nil {
				e.ship(p, e.at(d.Backend, d.Pool), d.Pool)
			}
		}
		if d := p.gate.Place; d != nil && e.contacts[d.Backend] != nil {
			e.ship(p, e.at(d.Backend, d.Pool), d.Pool)
		}
	}
}

// codeHere says whether a phase's source is where a job is to run: full while
// it is on its way.
func (e *engine) codeHere(p *phase, b *backend, pool string) (verdict, string) {
	if p.code.digest == "" {
		return started, ""
	}
	switch s := e.ship(p, b, pool); {
	case s.arrived:
		return started, ""
	case s.err != nil:
		return refused, "its source could not be copied: " + s.err.Error()
	}
	return full, ""
}

// ship is the one shipment of a phase's source to a spot; it begins with the
// first that asks.
func (e *engine) ship(p *phase, b *backend, pool string) *shipment {
	at := b.Spot(pool)
	key := shipmentKey{p.code.digest, at.Files(), at.Workdir}
	s := e.shipments[key]
	if s == nil {
		s = &shipment{spec: source.Of(e.Campaign, p.Source), digest: p.code.digest, b: b, at: at}
		e.shipments[key] = s
		e.sail(s)
	}
	return s
}

// sail copies a source. While its backend cannot be reached it is tried again.
func (e *engine) sail(s *shipment) {
	e.shippings++
	again := func() {
		s.tries++
		e.later(line.Backoff(s.tries), func() {
			e.shippings--
			s.at = s.b.Spot(s.at.Pool)
			e.sail(s)
		})
	}
	if s.b.Provider == nil {
		again()
		return
	}
	e.Spawn(func() {
		err := shipTo(e.ctx, s)
		e.Post(func() {
			var pe *providers.Error
			if errors.As(err, &pe) && pe.Class == providers.Unreachable {
				e.unreachable(s.b, err)
				again()
				return
			}
			e.shippings--
			s.arrived, s.err = err == nil, err
			if err != nil {
				e.report.note(e, s.b.title(), "the source was not copied to "+s.b.title()+": "+err.Error(), true)
			}
		})
	})
}

func (e *engine) shipping() bool { return e.shippings > 0 }

// shipTo puts a tree where a backend's jobs read it. A copy that is there is
// left alone: its name is its content.
func shipTo(ctx context.Context, s *shipment) error {
	to := path.Join(s.at.Workdir, ".muster", "source", s.digest)
	if !s.b.Can.Remote {
		return source.Copy(ctx, s.spec, s.digest, to)
	}
	return source.Push(ctx, s.spec, s.digest, to, shore{s.b.Provider, s.at.Name()})
}

// A shore is where a source is shipped to.
type shore struct {
	files providers.Files
	name  string
}

func (s shore) There(ctx context.Context, path string) (bool, error) {
	found, err := s.files.List(ctx, s.name, []string{path})
	return len(found) > 0, err
}

func (s shore) Push(ctx context.Context, path string, size int64, digest string, r io.ReadSeeker) error {
	return s.files.Push(ctx, s.name, path, size, digest, r)
}
