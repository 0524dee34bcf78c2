package site

import (
	"path"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A Filesystem is where files are: a backend, and of it the pool, where its pools
// do not see each other's files.
type Filesystem struct {
	Backend string
	Pool    string
	Workdir string // absolute where the backend says what ~ means
	files   string // equal where the same files are seen
}

// FilesystemOf is where the jobs of a pool leave their files.
func FilesystemOf(b providers.Backend, pools []offer.Pool, pool string) Filesystem {
	s := Filesystem{Backend: b.Name, Workdir: AtHome(b.Workdir, pools, pool)}
	p, answers := named(pools, pool)
	fs := p.Filesystem
	if fs != "" {
		s.Pool = pool
	}
	if !answers { // a host that is away: its files are its own
		fs = ""
	}
	switch {
	case b.Type == "local": // all of them are this machine
		s.files = "local"
	case fs != "":
		s.files = fs + "\x00" + b.Workdir
	default:
		s.files = s.Name()
	}
	return s
}

// Name names the owner of the files to a provider.
func (s Filesystem) Name() string { return providers.At(s.Backend, s.Pool) }

// Sees reports whether two spots have the same files.
func (s Filesystem) Sees(t Filesystem) bool { return s.files == t.files }

// Files is equal for spots that have the same files.
func (s Filesystem) Files() string { return s.files }

// named is a pool by its name, else the first, and whether it is the one that
// was meant.
func named(pools []offer.Pool, name string) (offer.Pool, bool) {
	for _, p := range pools {
		if p.Name == name {
			return p, true
		}
	}
	if len(pools) > 0 {
		return pools[0], name == ""
	}
	return offer.Pool{}, false
}

// AtHome is a workdir as the jobs of a pool see it: `~`, and a relative path on another
// machine, begin at the home that the pool reports, so that rendered paths need no shell.
func AtHome(workdir string, pools []offer.Pool, pool string) string {
	p, answers := named(pools, pool)
	home := p.Home
	if home == "" || !answers || path.IsAbs(workdir) {
		return workdir
	}
	if rest, ok := strings.CutPrefix(workdir, "~"); ok {
		if rest != "" && rest[0] != '/' {
			return workdir // another user's: the backend knows where
		}
		return path.Join(home, rest)
	}
	return path.Join(home, workdir)
}
