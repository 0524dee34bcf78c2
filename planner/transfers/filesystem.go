package transfers

import (
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

// A Filesystem is where files are: a backend, and of it the host, where its hosts do
// not see each other's files.
type Filesystem struct {
	Backend, Pool string
	Files         string // equal where the same files are seen; "" is nowhere
}

// Name is the filesystem as users and providers see it.
func (s Filesystem) Name() string {
	if s.Pool == "" {
		return s.Backend
	}
	return s.Backend + "/" + s.Pool
}

// Sees reports whether two filesystems have the same files.
func (s Filesystem) Sees(t Filesystem) bool { return s.Files == t.Files }

// Filesystems knows the filesystems of a plan's pools.
type Filesystems struct {
	pools    []offer.Pool
	backends []*lang.Backend
	found    map[[2]string]Filesystem // by backend and pool
}

// NewFilesystems are the filesystems of the pools of backends.
func NewFilesystems(pools []offer.Pool, backends []*lang.Backend) *Filesystems {
	return &Filesystems{pools: pools, backends: backends, found: map[[2]string]Filesystem{}}
}

// Of is where jobs of a pool leave their files. Every local backend is
// this machine; pools that name a filesystem share it with all that name the
// same and have the same workdir; the others see what their backend sees,
// unless its pools differ in that.
func (all *Filesystems) Of(backend, pool string) Filesystem {
	key := [2]string{backend, pool}
	s, ok := all.found[key]
	if !ok {
		s = all.find(backend, pool)
		all.found[key] = s
	}
	return s
}

func (all *Filesystems) find(backend, pool string) Filesystem {
	s := Filesystem{Backend: backend}
	if backend == "" {
		return s
	}
	first, its, apart, seen := "", "", false, false
	for i := range all.pools {
		p := &all.pools[i]
		if p.Backend != backend {
			continue
		}
		if !seen {
			first, its, seen = p.Filesystem, p.Filesystem, true
		}
		if p.Name == pool {
			its = p.Filesystem
		}
		apart = apart || p.Filesystem != first
	}
	if apart {
		s.Pool = pool
	}
	switch {
	case strings.HasPrefix(backend, "local."):
		s.Files = "local"
	case its != "":
		s.Files = its + "\x00" + all.workdir(backend)
	default:
		s.Files = s.Name()
	}
	return s
}

func (all *Filesystems) workdir(backend string) string {
	for _, b := range all.backends {
		if b.Address() == backend {
			return b.Workdir
		}
	}
	return ""
}

// Named takes a name as Filesystem.Name gives it.
func (all *Filesystems) Named(name string) Filesystem {
	backend, pool, _ := strings.Cut(name, "/")
	return all.Of(backend, pool)
}
