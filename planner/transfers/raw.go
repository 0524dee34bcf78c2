package transfers

import (
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/backends"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/planner/result"
)

// Raw is an input that no phase makes, as a plan sees it.
type Raw struct {
	*lang.RawInput
	Files func(cell int) []result.File
	// Elsewhere reports whether a backend is no part of muster's machine.
	Elsewhere func(backend string) bool
	// There reports whether a filesystem has a copy of a file from before.
	There func(Filesystem, result.File) bool
}

// OfRaw lists the copies that jobs of a phase need of the files of an input that
// no phase makes, in order of their ways.
func OfRaw(filesystems *Filesystems, p *Phase, in Raw) []Transfer {
	from := filesystems.Of(backends.Local, "")
	if in.Backend != "" {
		from = filesystems.Of(in.Backend, "")
	}
	type part struct {
		class int
		to    string
	}
	of := in.Classes()
	done := map[part]bool{}
	sent := map[[2]string]bool{} // file and filesystem
	drafts := map[[2]Filesystem]*draft{}
	for i, at := range p.Place {
		if !p.Starts(i) || int(at) >= len(p.Placements) {
			continue
		}
		d := p.Placements[at]
		to := filesystems.Of(d.Backend, d.Pool)
		class := part{of.Of(i), to.Files}
		if to.Files == "" || from.Sees(to) || done[class] || in.Backend == "" && !in.Elsewhere(d.Backend) {
			continue
		}
		done[class] = true
		var t Transfer
		for _, f := range in.Files(i) {
			if key := [2]string{f.Path, to.Files}; !sent[key] && !in.There(to, f) {
				sent[key] = true
				t.Files++
				t.Bytes += f.Size
			}
		}
		if t.Files == 0 {
			continue
		}
		h := drafts[[2]Filesystem{from, to}]
		if h == nil {
			h = &draft{t: Transfer{Phase: p.Name, Input: in.Name, From: from.Backend, FromHost: from.Pool, To: to.Backend, ToHost: to.Pool, Raw: true,
				Push: !strings.HasPrefix(to.Backend, "local.")}}
			drafts[[2]Filesystem{from, to}] = h
		}
		h.t.Files, h.t.Bytes, h.t.Cells = h.t.Files+t.Files, h.t.Bytes+t.Bytes, append(h.t.Cells, int32(class.class))
	}
	return rows(drafts, "")
}

// classes are those of an input that no phase makes, as a forecast joins them to
// the cells that read them.
type classes struct {
	of      *grid.Projection
	members []int
}

func classesOf(in *lang.RawInput) classes {
	of := in.Classes()
	c := classes{of: &of, members: make([]int, of.Len())}
	for i := range c.members {
		c.members[i] = i
	}
	return c
}

// Groups implements forecast.Join.
func (c classes) Groups() int { return len(c.members) }

// GroupOf implements forecast.Join.
func (c classes) GroupOf(cell int) int { return c.of.Of(cell) }

// Members implements forecast.Join.
func (c classes) Members(group int) []int { return c.members[group : group+1] }
