package refresh

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/image"
	"github.com/muster-run/muster/providers/offer"
)

// imageTimeout is for one backend to read its images: a large one on a slow
// volume takes minutes, once.
const imageTimeout = 15 * time.Minute

// digestFile remembers digests of files by where they are and their stamps.
const digestFile = "digests.json"

// digests are those of files that no job makes, taken once for each stamp.
type digests struct {
	mu    sync.Mutex
	path  string
	known map[string]taken
	dirty bool
}

type taken struct {
	Stamp  uint64 `json:"stamp"`
	Digest string `json:"digest"`
}

func openDigests(cache string) *digests {
	d := &digests{known: map[string]taken{}}
	if cache != "" {
		d.path = filepath.Join(cache, digestFile)
		if b, err := os.ReadFile(d.path); err == nil && json.Unmarshal(b, &d.known) != nil {
			d.known = map[string]taken{} // broken: they are taken again
		}
	}
	return d
}

func (d *digests) get(key string, stamp uint64) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := d.known[key]; stamp != 0 && t.Stamp == stamp {
		return t.Digest
	}
	return ""
}

func (d *digests) put(key string, stamp uint64, digest string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known[key], d.dirty = taken{stamp, digest}, true
}

// save writes what is new; that it cannot be written is no error: files are read
// again.
func (d *digests) save() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.dirty || d.path == "" {
		return
	}
	d.dirty = false
	b, err := json.Marshal(d.known)
	if err != nil || os.MkdirAll(filepath.Dir(d.path), 0o777) != nil {
		return
	}
	if os.WriteFile(d.path+".new", b, 0o600) == nil {
		_ = os.Rename(d.path+".new", d.path)
	}
}

// A seenImage is a digest of the image of a class of a phase's cells, on one
// backend.
type seenImage struct {
	phase   string
	variant lang.Variant
	class   int
	backend string
	digest  string
}

// images takes the digests of the images that are files of a backend.
func (o *observer) images(ctx context.Context, a *ask) {
	if !o.Refresh || a.p == nil || a.lang == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, imageTimeout)
	defer cancel()
	spot := site.SpotOf(a.conf, a.offers, "")
	for _, name := range a.phases() {
		p := o.phase(name)
		if p == nil {
			continue
		}
		for _, v := range []lang.Variant{lang.Run, lang.SmokeRun} {
			classes, has := p.Images(v)
			if !has || v == lang.SmokeRun && p.Smoke == nil {
				continue
			}
			for class := range classes.Len() {
				if text := o.imageOf(a, p, v, classes.First(class), spot); text != "" {
					digest := o.digestOf(ctx, a, spot, text)
					o.mu.Lock()
					o.seenImages = append(o.seenImages, seenImage{name, v, class, a.name, digest})
					o.mu.Unlock()
				}
			}
		}
	}
}

// imageOf is the path of a cell's image on a backend, "" if it is no file or a
// job makes it.
func (o *observer) imageOf(a *ask, p *lang.Phase, v lang.Variant, cell int, spot site.Spot) string {
	var made []string
	r, diags := p.Render(cell, lang.Site{Variant: v, Workdir: spot.Workdir, SourceDir: spot.Workdir, Spool: spot.Workdir, Backend: a.name, CPUs: 1,
		Input: func(name string) []string {
			made = append(made, spot.Workdir+"/"+name)
			return made[len(made)-1:]
		}})
	if diags.HasErrors() || r.Image == "" || slices.Contains(made, r.Image) {
		return ""
	}
	ref, file := image.Ref(spot.Workdir, r.Image)
	if !file || strings.HasPrefix(ref, "/proc/") || strings.HasPrefix(ref, "/sys/") || strings.HasPrefix(ref, "/dev/") {
		return ""
	}
	if strings.HasPrefix(r.Image, "~/") {
		ref = r.Image // of the user there
		if a.conf.Type != localType {
			return site.AtHome(ref, a.offers, "")
		}
		ref, _ = image.Ref(spot.Workdir, r.Image)
	}
	if a.conf.Type == localType && o.reads(filepath.Dir(ref), "image "+r.Image) != nil {
		return ""
	}
	return ref
}

// digestOf is the digest of a file or a folder where it is, "" if it cannot be
// had.
func (o *observer) digestOf(ctx context.Context, a *ask, spot site.Spot, path string) string {
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
		return ""
	}
	key := a.name + "\x00" + path
	if digest := o.digests.get(key, found.Stamp()); digest != "" {
		return digest
	}
	defer o.announce("reading " + path + " on backend." + a.name)()
	if found = look(kind, true); !found.OK {
		return ""
	}
	o.digests.put(key, found.Stamp(), found.Digest)
	return found.Digest
}

// contents are the images as the planner takes them: of several backends that
// have one, that of the first candidate counts.
func (o *observer) contents() {
	o.digests.save()
	if len(o.seenImages)+len(o.seenRaw) == 0 {
		return
	}
	out := result.Contents{}
	for name, raw := range o.seenRaw {
		out[name] = raw
	}
	for _, p := range o.Campaign.Phases {
		for _, v := range []lang.Variant{lang.Run, lang.SmokeRun} {
			classes, has := p.Images(v)
			if !has {
				continue
			}
			c := result.Content{Name: result.Image, Variant: v, Of: classes, Digests: make([]string, classes.Len())}
			rank := make([]int, classes.Len())
			for _, s := range o.seenImages {
				if s.phase != p.Name || s.variant != v || s.digest == "" {
					continue
				}
				if at := o.candidate(p, s.backend) + 1; rank[s.class] == 0 || at < rank[s.class] {
					rank[s.class], c.Digests[s.class] = at, s.digest
				}
			}
			out[p.Name] = append(out[p.Name], c)
		}
	}
	o.out.Observed.Contents = out
}

// candidate is the place of a backend among those where a phase's jobs may go.
func (o *observer) candidate(p *lang.Phase, backend string) int {
	if i := slices.IndexFunc(p.Candidates, func(c string) bool { return strings.TrimPrefix(c, "backend.") == backend }); i >= 0 {
		return i
	}
	return len(p.Candidates) + slices.IndexFunc(o.Campaign.Backends, func(b *lang.Backend) bool { return b.Address() == backend })
}
