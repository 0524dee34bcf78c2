package source

import (
	"path/filepath"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/site"
)

// Outputs tells declared outputs of a campaign by their path below a folder.
func Outputs(c *lang.Campaign, dir string) func(rel string) bool { return outputsOf(c, dir) }

// outputsOf tells declared outputs by their path below dir. The paths are
// worked out on first need: a source whose patterns take no output never asks.
func outputsOf(c *lang.Campaign, dir string) func(rel string) bool {
	known := sync.OnceValue(func() *declared { return declare(c, dir) })
	return func(rel string) bool { return known().has(rel) }
}

// declared are the outputs of a campaign that are below a folder.
type declared struct {
	files map[string]bool
	dirs  map[string]bool
	globs map[string]bool
}

func declare(c *lang.Campaign, dir string) *declared {
	d := &declared{files: map[string]bool{}, dirs: map[string]bool{}, globs: map[string]bool{}}
	roots := map[string]bool{c.Dir: true}
	for _, b := range c.Backends {
		if w := site.Workdir(c, b); filepath.IsAbs(w) {
			roots[w] = true
		}
	}
	for _, p := range c.Phases {
		for _, o := range p.Outputs {
			for i := range p.Len() {
				path := p.OutputPath(i, o.Name, lang.Run)
				for root := range roots {
					d.add(dir, root, path, o.Kind)
				}
			}
		}
	}
	return d
}

func (d *declared) add(dir, root, path string, kind lang.OutputKind) {
	abs := path
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(root, path)
	}
	rel, err := filepath.Rel(dir, abs)
	if err != nil || strings.HasPrefix(rel, "..") {
		return
	}
	rel = filepath.ToSlash(rel)
	switch kind {
	case lang.Dir:
		d.dirs[rel] = true
	case lang.Glob:
		d.globs[rel] = true
	default:
		d.files[rel] = true
	}
}

func (d *declared) has(rel string) bool {
	if d.files[rel] {
		return true
	}
	for dir := rel; len(d.dirs) > 0; {
		if d.dirs[dir] {
			return true
		}
		i := strings.LastIndexByte(dir, '/')
		if i < 0 {
			break
		}
		dir = dir[:i]
	}
	for g := range d.globs {
		if ok, err := doublestar.Match(g, rel); err == nil && ok {
			return true
		}
	}
	return false
}
