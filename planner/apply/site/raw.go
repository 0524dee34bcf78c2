package site

import (
	"path/filepath"

	"github.com/muster-run/muster/planner/result"
)

// RawPaths are the absolute paths, on muster's machine, of files that no phase
// makes.
func RawPaths(dir string, files []result.File) []string {
	out := make([]string, len(files))
	for i, f := range files {
		if out[i] = f.Path; !filepath.IsAbs(f.Path) {
			out[i] = filepath.Join(dir, f.Path)
		}
	}
	return out
}
