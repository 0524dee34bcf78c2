package site

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers/offer"
)

// RawAt are the paths of files that no phase makes, as jobs on a backend with a
// workdir read them: in place, or copies.
func RawAt(dir string, in *lang.RawInput, files []result.File, backend, workdir string) []string {
	switch {
	case in.Backend == "" && strings.HasPrefix(backend, "local."):
		return RawPaths(dir, files)
	case in.Backend == backend:
		return RawPaths(workdir, files)
	}
	out := make([]string, len(files))
	for i, f := range files {
		out[i] = path.Join(workdir, result.CopiesDir, f.Copy())
	}
	return out
}

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

// RawThere is the absolute path of a file that no phase makes on a backend that
// has it.
func RawThere(file string, at Filesystem, pools []offer.Pool, pool string) string {
	if strings.HasPrefix(file, "~") {
		return AtHome(file, pools, pool)
	}
	return RawPaths(at.Workdir, []result.File{{Path: file}})[0]
}
