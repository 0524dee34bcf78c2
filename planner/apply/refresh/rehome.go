package refresh

import (
	"os"
	"path/filepath"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/wrapper/verify"
	"github.com/muster-run/muster/state"
)

// Rehome follows outputs whose folder was moved. The state records them below the workdir that
// their job had; where the present workdir has the same path with the recorded size and time,
// that one counts from now on. It looks at backends on this machine, and reads no folder that
// reads (see Input) refuses.
func Rehome(c *lang.Campaign, st *state.State, reads func(dir, what string) error) {
	h := rehoming{c: c, reads: reads, homes: map[string]*home{}}
	defer h.close()
	for _, j := range st.Jobs {
		for i := range j.Outputs {
			h.follow(&j.Outputs[i])
		}
		for i := range j.Kept {
			h.follow(&j.Kept[i])
		}
	}
}

type rehoming struct {
	c     *lang.Campaign
	reads func(dir, what string) error
	homes map[string]*home // by backend
}

// A home is the present workdir of a backend; root is nil where it is not looked at.
type home struct {
	workdir string
	root    *os.Root
}

func (h *rehoming) close() {
	for _, at := range h.homes {
		if at.root != nil {
			_ = at.root.Close()
		}
	}
}

func (h *rehoming) of(backend string) *home {
	at := h.homes[backend]
	if at == nil {
		at = &home{}
		h.homes[backend] = at
		for _, b := range h.c.Backends {
			if b.Address() == backend && b.Type == localType {
				at.workdir = site.Workdir(h.c, b)
			}
		}
	}
	return at
}

func (h *rehoming) follow(o *state.Output) {
	at := h.of(o.Backend)
	if at.workdir == "" || o.Workdir == "" || o.Workdir == at.workdir || o.Missing || !filepath.IsLocal(o.Path) {
		return
	}
	if at.root == nil {
		if h.reads != nil && h.reads(at.workdir, "") != nil {
			return
		}
		root, err := os.OpenRoot(at.workdir)
		if err != nil {
			return
		}
		at.root = root
	}
	kind := jobspec.KindOf(o)
	fi, err := at.root.Stat(filepath.Clean(existing(kind, o.Path))) // no link leads out of it
	if err != nil {
		return
	}
	if kind == lang.File {
		if !fi.Mode().IsRegular() || fi.Size() != o.Size || fi.ModTime().UnixNano() != o.MTime {
			return
		}
	} else if now := verify.Stat(at.workdir, providers.Output{Kind: string(kind), Path: o.Path}); now.Files != o.Files || now.Size != o.Size || now.MTime != o.MTime {
		return
	}
	o.Workdir = at.workdir
}
