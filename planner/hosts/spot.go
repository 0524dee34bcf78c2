package hosts

import (
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

// A Spot is where files lie: a backend, and of it the host, where its hosts do
// not see each other's files.
type Spot struct {
	Backend, Pool string
	Files         string // equal where the same files are seen; "" is nowhere
}

// Name is the spot as it is shown, and as providers are told of it.
func (s Spot) Name() string {
	if s.Pool == "" {
		return s.Backend
	}
	return s.Backend + "/" + s.Pool
}

// Sees reports whether two spots have the same files.
func (s Spot) Sees(t Spot) bool { return s.Files == t.Files }

// Spots knows the spots of a plan's pools.
type Spots struct {
	pools    []offer.Pool
	backends []*lang.Backend
	found    map[[2]string]Spot // by backend and pool
}

// NewSpots are the spots of the pools of backends.
func NewSpots(pools []offer.Pool, backends []*lang.Backend) *Spots {
	return &Spots{pools: pools, backends: backends, found: map[[2]string]Spot{}}
}

// Of is where jobs of a pool leave their files. Every local backend is
// this machine; pools that name a filesystem share it with all that name the
// same and have the same workdir; the others see what their backend sees,
// unless its pools differ in that.
func (all *Spots) Of(backend, pool string) Spot {
	key := [2]string{backend, pool}
	s, ok := all.found[key]
	if !ok {
		s = all.find(backend, pool)
		all.found[key] = s
	}
	return s
}

func (all *Spots) find(backend, pool string) Spot {
	s := Spot{Backend: backend}
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

func (all *Spots) workdir(backend string) string {
	for _, b := range all.backends {
		if b.Address() == backend {
			return b.Workdir
		}
	}
	return ""
}

// Named takes a name as Spot.Name gives it.
func (all *Spots) Named(name string) Spot {
	backend, pool, _ := strings.Cut(name, "/")
	return all.Of(backend, pool)
}
