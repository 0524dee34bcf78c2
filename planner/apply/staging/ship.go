package staging

import (
	"context"
	"errors"
	"io"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/apply/source"
	"github.com/muster-run/muster/providers"
)

// A Shipment is a source on its way to a spot. Nothing that reads it starts
// there before it has arrived.
type shipment struct {
	spec    source.Rules
	digest  string
	b       *Endpoint
	at      site.Filesystem
	tries   int
	far     *Progress // while it is on its way
	Arrived bool
	Err     error // it cannot arrive
}

type shipmentKey struct{ digest, files, workdir string }

// Ship is the one shipment of a phase's source, known by its digest, to a
// spot; it begins with the first that asks.
func (so *sources) Ship(p *lang.Phase, digest string, b *Endpoint, pool string) *shipment {
	at := b.Filesystem(pool)
	key := shipmentKey{digest, at.Files(), at.Workdir}
	s := so.shipments[key]
	if s == nil {
		s = &shipment{spec: source.Of(so.Campaign, p.Source), digest: digest, b: b, at: at}
		so.shipments[key] = s
		if so.Play {
			s.Arrived = true
			return s
		}
		so.sail(s)
	}
	return s
}

// sail copies a source. While its backend cannot be reached it is tried again.
func (so *sources) sail(s *shipment) {
	so.shippings++
	again := func() {
		s.tries++
		so.Later(connection.Backoff(s.tries), func() {
			so.shippings--
			s.at = s.b.Filesystem(s.at.Pool)
			so.sail(s)
		})
	}
	if s.b.Provider == nil {
		again()
		return
	}
	s.far = so.watch(0, s.move(), s.b)
	far := s.far
	so.Spawn(func() {
		err := shipTo(so.Ctx, s, far)
		so.Post(func() {
			s.far = nil
			var pe *providers.Error
			if errors.As(err, &pe) && pe.Class == providers.Unreachable {
				so.Backends.Lost(s.b, err)
				again()
				return
			}
			if so.shippings--; err == nil {
				so.answered(s.b)
			}
			s.Arrived, s.Err = err == nil, err
			if err != nil {
				so.Note(s.b.Title, "the source was not copied to "+s.b.Title+": "+err.Error(), true)
			}
		})
	})
}

// Shipping reports whether sources are on their way.
func (so *sources) Shipping() bool { return so.shippings > 0 }

// shipTo puts a tree where a backend's jobs read it. A copy that is there is
// left alone: its name is its content; one that was edited there is refused.
func shipTo(ctx context.Context, s *shipment, far *Progress) error {
	to := source.In(s.at.Workdir, s.digest)
	if !s.b.Can.Remote {
		return source.Copy(ctx, s.spec, s.digest, to)
	}
	return source.Push(ctx, s.spec, s.digest, to, counted{source.ShoreOf(s.b.Provider, s.at.Name()), far})
}

// counted is a shore that counts the bytes pushed to it.
type counted struct {
	source.Shore
	far *Progress
}

func (c counted) Push(ctx context.Context, path string, size int64, digest string, r io.ReadSeeker) error {
	return c.Shore.Push(ctx, path, size, digest, c.far.Counted(path, size, r))
}
