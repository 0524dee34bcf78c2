package staging

import (
	"fmt"
	"os"
	"path"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/state"
)

// Rename moves a file or folder of this machine, never over another; the folders
// above its new path are made.
func Rename(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("move %s: %s exists", from, to)
	}
	if err := os.MkdirAll(path.Dir(to), 0o777); err != nil {
		return fmt.Errorf("move %s: %w", from, err)
	}
	return os.Rename(from, to)
}

// Follow renames the outputs of a job to where its phase declares them now, of
// those that are on this machine, and gives back those that it renamed. Those
// that cannot be renamed stay where they are.
func Follow(p *lang.Phase, cell int, outputs []state.Output, here func(backend string) bool) (renamed []state.Output) {
	for _, o := range outputs {
		d := jobspec.OutputOf(p, o.Name, -1)
		if d == nil || d.Kind == lang.Glob || !here(o.Backend) {
			continue
		}
		to := p.OutputPath(cell, o.Name, lang.Run)
		if to == o.Path || o.Workdir == "" {
			continue
		}
		if Rename(Absolute(o.Workdir, o.Path), Absolute(o.Workdir, to)) == nil {
			o.Path = to
			renamed = append(renamed, o)
		}
	}
	return renamed
}
