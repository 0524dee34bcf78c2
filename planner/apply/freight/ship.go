package freight

import (
	"context"
	"errors"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/apply/source"
	"github.com/muster-run/muster/providers"
)

// A Shipment is a source on its way to a spot. Nothing that reads it starts
// there before it has arrived.
type Shipment struct {
	spec    source.Spec
	digest  string
	b       *Berth
	at      site.Spot
	tries   int
	Arrived bool
	Err     error // it cannot arrive
}

type shipmentKey struct{ digest, files, workdir string }

// Ship is the one shipment of a phase's source, known by its digest, to a
// spot; it begins with the first that asks.
func (fr *Freight) Ship(p *lang.Phase, digest string, b *Berth, pool string) *Shipment {
	at := b.Spot(pool)
	key := shipmentKey{digest, at.Files(), at.Workdir}
	s := fr.shipments[key]
	if s == nil {
		s = &Shipment{spec: source.Of(fr.Campaign, p.Source), digest: digest, b: b, at: at}
		fr.shipments[key] = s
		if fr.Play {
			s.Arrived = true
			return s
		}
		fr.sail(s)
	}
	return s
}

// sail copies a source. While its backend cannot be reached it is tried again.
func (fr *Freight) sail(s *Shipment) {
	fr.shippings++
	again := func() {
		s.tries++
		fr.Later(line.Backoff(s.tries), func() {
			fr.shippings--
			s.at = s.b.Spot(s.at.Pool)
			fr.sail(s)
		})
	}
	if s.b.Provider == nil {
		again()
		return
	}
	fr.Spawn(func() {
		err := shipTo(fr.Ctx, s)
		fr.Post(func() {
			var pe *providers.Error
			if errors.As(err, &pe) && pe.Class == providers.Unreachable {
				s.b.Lost(err)
				again()
				return
			}
			fr.shippings--
			s.Arrived, s.Err = err == nil, err
			if err != nil {
				fr.Note(s.b.Title, "the source was not copied to "+s.b.Title+": "+err.Error(), true)
			}
		})
	})
}

// Shipping reports whether sources are on their way.
func (fr *Freight) Shipping() bool { return fr.shippings > 0 }

// shipTo puts a tree where a backend's jobs read it. A copy that is there is
// left alone: its name is its content; one that was edited there is refused.
func shipTo(ctx context.Context, s *Shipment) error {
	to := source.In(s.at.Workdir, s.digest)
	if !s.b.Can.Remote {
		return source.Copy(ctx, s.spec, s.digest, to)
	}
	return source.Push(ctx, s.spec, s.digest, to, source.ShoreOf(s.b.Provider, s.at.Name()))
}
