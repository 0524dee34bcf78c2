package freight

import (
	"context"
	"errors"
	"io"
	"path"
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/apply/source"
	"github.com/muster-run/muster/providers"
)

// SourceDir is the read-only copy of a source below a workdir, "" without a
// digest: there is no source.
func SourceDir(workdir, digest string) string {
	if digest == "" {
		return ""
	}
	return path.Join(workdir, ".muster", "source", digest)
}

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
	to := SourceDir(s.at.Workdir, s.digest)
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

// digestsMax is how many files are asked for at once.
const digestsMax = 1000

func (s shore) Digests(ctx context.Context, dir string, files []string) ([]string, error) {
	out := make([]string, 0, len(files))
	for part := range slices.Chunk(files, digestsMax) {
		ask := providers.VerifyRequest{Backend: s.name, Workdir: dir, Open: true}
		for _, f := range part {
			ask.Outputs = append(ask.Outputs, providers.Output{Name: f, Kind: string(lang.File), Path: f})
		}
		got, err := s.files.Verify(ctx, ask)
		if err != nil {
			return nil, err
		}
		if len(got) != len(part) {
			return nil, errors.New("the backend gave no verdict")
		}
		for _, o := range got {
			out = append(out, o.Digest)
		}
	}
	return out, nil
}

func (s shore) Push(ctx context.Context, path string, size int64, digest string, r io.ReadSeeker) error {
	return s.files.Push(ctx, s.name, path, size, digest, r)
}
