package refresh

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/digests"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/image"
	"github.com/muster-run/muster/providers/offer"
)

// imageTimeout is for one backend to read its images: a large one on a slow
// volume takes minutes, once.
const imageTimeout = 15 * time.Minute

// A seenImage is a digest of the image of a class of a phase's cells, on one
// backend.
type seenImage struct {
	phase   string
	variant lang.Variant
	class   int
	backend string
	digest  string
	stamp   uint64
}

// Images are those that are files of backends, or pinned by the digest in their names.
type images struct {
	*facts

	mu   sync.Mutex
	seen []seenImage
}

// read takes the digests of the images on a backend.
func (im *images) read(ctx context.Context, a *ask) {
	if !im.Refresh || a.p == nil || a.lang == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, imageTimeout)
	defer cancel()
	spot := site.FilesystemOf(a.conf, a.offers, "")
	for _, name := range a.phases() {
		p := im.phase(name)
		if p == nil {
			continue
		}
		for _, v := range []lang.Variant{lang.Run, lang.SmokeRun} {
			classes, has := p.Images(v)
			if !has || v == lang.SmokeRun && p.Smoke == nil {
				continue
			}
			for class := range classes.Len() {
				path, digest := im.find(a, p, v, classes.First(class), spot)
				var stamp uint64
				if path != "" {
					digest, stamp = im.digestOf(ctx, a, spot, path)
				}
				if path != "" || digest != "" {
					im.mu.Lock()
					im.seen = append(im.seen, seenImage{name, v, class, a.name, digest, stamp})
					im.mu.Unlock()
				}
			}
		}
	}
}

// find is the path of a cell's image on a backend, if it is a file that no job makes, or the
// digest in the name of one of a registry.
func (im *images) find(a *ask, p *lang.Phase, v lang.Variant, cell int, spot site.Filesystem) (path, digest string) {
	var made []string
	r, diags := p.Render(cell, lang.Target{Variant: v, Workdir: spot.Workdir, SourceDir: spot.Workdir, Spool: spot.Workdir, Backend: a.name, CPUs: 1,
		Input: func(name string) []string {
			made = append(made, spot.Workdir+"/"+name)
			return made[len(made)-1:]
		}})
	if diags.HasErrors() || r.Image == "" || slices.Contains(made, r.Image) {
		return "", ""
	}
	ref, file := image.Ref(spot.Workdir, r.Image)
	if !file {
		return "", image.Pin(ref)
	}
	if strings.HasPrefix(ref, "/proc/") || strings.HasPrefix(ref, "/sys/") || strings.HasPrefix(ref, "/dev/") {
		return "", ""
	}
	if strings.HasPrefix(r.Image, "~/") {
		ref = r.Image // of the user there
		if a.conf.Type != localType {
			return site.AtHome(ref, a.offers, ""), ""
		}
		ref, _ = image.Ref(spot.Workdir, r.Image)
	}
	if a.conf.Type == localType && im.reads(filepath.Dir(ref), "image "+r.Image) != nil {
		return "", ""
	}
	return ref, ""
}

// digestOf is the digest of a file or a folder where it is, and its stamp then; ""
// if it cannot be had.
func (im *images) digestOf(ctx context.Context, a *ask, spot site.Filesystem, path string) (string, uint64) {
	look := func(kind string, open bool) offer.Output {
		got, err := a.p.Verify(ctx, providers.VerifyRequest{Backend: spot.Name(), Workdir: spot.Workdir, Open: open,
			Outputs: []providers.Output{{Name: result.Image, Kind: kind, Path: path}}})
		if err != nil || len(got) != 1 {
			return offer.Output{}
		}
		return got[0]
	}
	kind := ""
	found := look(kind, false)
	if !found.OK && found.Present {
		kind = "dir" // a sandbox
		found = look(kind, false)
	}
	if !found.OK {
		return "", 0
	}
	key := a.name + "\x00" + path
	if digest := im.digests.Get(key, found.Stamp()); digest != "" {
		return digest, found.Stamp()
	}
	defer im.announce("reading " + path + " on backend." + a.name)()
	if found = look(kind, true); !found.OK {
		return "", 0
	}
	im.digests.Put(key, digests.Taken{Digest: found.Digest, Size: found.Size, Stamp: found.Stamp()})
	return found.Digest, found.Stamp()
}

// contents adds the images to the contents of raw inputs, as the planner takes them:
// of several backends that have one, that of the first candidate counts.
func (im *images) contents(raw result.Contents) result.Contents {
	if len(im.seen)+len(raw) == 0 {
		return nil
	}
	out := maps.Clone(raw)
	for _, p := range im.Campaign.Phases {
		for _, v := range []lang.Variant{lang.Run, lang.SmokeRun} {
			classes, has := p.Images(v)
			if !has {
				continue
			}
			c := result.Content{Name: result.Image, Variant: v, Of: classes, Digests: make([]string, classes.Len()), Stamps: map[string]uint64{}}
			rank := make([]int, classes.Len())
			for _, s := range im.seen {
				if s.phase != p.Name || s.variant != v || s.digest == "" {
					continue
				}
				c.Stamps[result.ImageAt(s.backend, s.digest)] = s.stamp
				if at := im.candidate(p, s.backend) + 1; rank[s.class] == 0 || at < rank[s.class] {
					rank[s.class], c.Digests[s.class] = at, s.digest
				}
			}
			out[p.Name] = append(out[p.Name], c)
		}
	}
	return out
}

// candidate is the place of a backend among those where a phase's jobs may go.
func (im *images) candidate(p *lang.Phase, backend string) int {
	if i := slices.IndexFunc(p.Candidates, func(c string) bool { return strings.TrimPrefix(c, "backend.") == backend }); i >= 0 {
		return i
	}
	return len(p.Candidates) + slices.IndexFunc(im.Campaign.Backends, func(b *lang.Backend) bool { return b.Address() == backend })
}
