package sim

import (
	"context"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
)

// A sea holds the files of all simulated sites: which site sees which, and which were carried
// from one to another. A file that nobody is known to have made is found wherever it is looked
// for.
type sea struct {
	first string              // files that all sites see, until there are others
	apart bool                // not all sites see the same files
	size  map[string]int64    // of made files, by path below a workdir
	here  map[location]bool   // where it is
	bound map[location]string // by full path: missing files that will be carried there
}

// A location is a path at those who see the same files.
type location struct{ files, path string }

func newSea() *sea {
	return &sea{size: map[string]int64{}, here: map[location]bool{}, bound: map[location]string{}}
}

// An ExistingOutput is an output that was made, or brought, before.
type ExistingOutput struct {
	Pool, Path string
	Size       int64
}

// files names the file system of a pool's jobs: equal where they see the same
// files.
func (w *world) files(pool string) string {
	if w.site.Files == nil {
		return ""
	}
	return w.site.Files(pool)
}

// join takes a site in.
func (s *sea) join(w *world) {
	for _, p := range w.site.Pools {
		switch f := w.files(p.Name); {
		case s.first == "":
			s.first = f
		case f != s.first:
			s.apart = true
		}
	}
	for _, l := range w.site.Existing {
		s.lay(w.files(l.Pool), l.Path, l.Size)
	}
}

// lay notes an output where it was made or carried to.
func (s *sea) lay(files, path string, size int64) {
	s.size[path], s.here[location{files, path}] = size, true
}

// has reports whether an output is seen there; full is where it would be.
func (s *sea) has(files, rel, full string) bool {
	key := rel
	if rest, ok := strings.CutPrefix(rel, ".muster/moved/"); ok { // carried from an absolute path
		key = "/" + rest
	}
	if _, made := s.size[key]; !s.apart || !made || s.here[location{files, key}] {
		return true
	}
	s.bound[location{files, full}] = key
	return false
}

// A carrier is a source of bytes that says where they come from, so that they
// need not be read where there are none.
type carrier interface{ Origin() (backend string) }

// serves reports whether a backend is one of the simulated.
func (s *Sim) serves(backend string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, _ := providers.CutAt(backend)
	return s.worlds[name] != nil
}

// awaits reports whether an output was looked for there that another simulated
// site has.
func (s *Sim) awaits(backend, full string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, pool := providers.CutAt(backend)
	w := s.worlds[name]
	if w == nil {
		return false
	}
	_, ok := s.sea.bound[location{w.files(pool), full}]
	return ok
}

// carry takes a file to a site, in the time that its link takes, or that of the
// simulated site it comes from, if that is slower. A link carries one file after
// another.
func (s *Sim) carry(ctx context.Context, from, to, full string, size int64) error {
	links := []*world{}
	if from != "" {
		source, done, err := s.ask(from)
		if err != nil {
			return err
		}
		done()
		links = append(links, source)
	}
	w, done, err := s.ask(to)
	if err != nil {
		return err
	}
	_, pool := providers.CutAt(to)
	at := location{w.files(pool), full}
	key, known := s.sea.bound[at]
	if known {
		size = max(size, s.sea.size[key])
	}
	end := w.now
	for _, link := range append(links, w) {
		end = later(end, link.carried(size))
	}
	done()
	if err := s.wait(ctx, nil, end); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.sea.bound, at); known {
		s.sea.lay(at.files, key, size)
	}
	return nil
}

// carried is when a site's link has carried one more file.
func (w *world) carried(size int64) time.Time {
	if w.site.Bandwidth <= 0 {
		return w.now
	}
	w.link = later(w.link, w.now).Add(time.Duration(float64(size) / float64(w.site.Bandwidth) * float64(time.Second)))
	return w.link
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
