package attempt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/wrapper/guard"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// discard removes the files that a completed job declares as useless, below the workdir, and
// says so in the log of the launch. Its outputs, its inputs and the files that it is to keep
// stay.
func discard(j *providers.Job, launch int) error {
	if len(j.Discard) == 0 || j.Smoke {
		return nil
	}
	root, err := os.OpenRoot(j.Workdir)
	if err != nil {
		return fmt.Errorf("discard: %w", err)
	}
	defer root.Close()
	keep := kept(j)
	var said []string
	var wrong []error
	for _, pattern := range j.Discard {
		n, err := discardPattern(root, pattern, keep)
		if n > 0 {
			said = append(said, fmt.Sprintf("%s removed from %s (discard)", units.Count(n, "file"), pattern))
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("discard %s: %w", pattern, err))
		}
	}
	return errors.Join(append(wrong, log(j, launch, said))...)
}

// discardPattern removes the files of a pattern below a folder, and the folders that they leave empty.
func discardPattern(root *os.Root, pattern string, keep []string) (files int, err error) {
	pattern = path.Clean(filepath.ToSlash(pattern))
	head, _ := doublestar.SplitPattern(pattern)
	found, err := doublestar.Glob(root.FS(), pattern, doublestar.WithNoFollow())
	if err != nil {
		return 0, err
	}
	var wrong []error
	for _, name := range found {
		if at, err := root.Lstat(name); err != nil || at.Mode()&fs.ModeSymlink != 0 {
			if err == nil && name != head && !verify.OfMuster(name) && !slices.Contains(keep, real(root, name)) && root.Remove(name) == nil { // never the folder that a pattern begins with
				files++
			}
			continue
		}
		err := fs.WalkDir(root.FS(), name, func(at string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist): // removed with a folder above it
				return nil
			case err != nil:
				return err
			case d.IsDir() && (verify.OfMuster(at) || at == "."):
				return fs.SkipDir
			case d.IsDir() || verify.OfMuster(at):
				return nil
			case slices.ContainsFunc(keep, func(k string) bool { return k == real(root, at) || within(k, real(root, at)) }):
				return nil
			}
			if err := root.Remove(at); err != nil {
				return err
			}
			files++
			return nil
		})
		if err != nil {
			wrong = append(wrong, err)
		}
		sweep(root, name)
	}
	return files, errors.Join(wrong...)
}

// sweep removes a folder and those in it that are empty.
func sweep(root *os.Root, name string) {
	var folders []string
	_ = fs.WalkDir(root.FS(), name, func(at string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && at != "." {
			folders = append(folders, at)
		}
		return nil
	})
	for _, at := range slices.Backward(folders) {
		_ = root.Remove(at) // one that is not empty stays
	}
}

// kept are the real paths of files and folders of a job that stay: its outputs and inputs.
func kept(j *providers.Job) (paths []string) {
	for _, o := range j.Outputs {
		if o.Kind == "glob" {
			matches, _ := guard.Matches(j.Workdir, o.Path)
			paths = append(paths, matches...)
			continue
		}
		paths = append(paths, InWorkdir(j.Workdir, o.Path))
	}
	for _, in := range j.Inputs {
		paths = append(paths, in.Paths...)
	}
	for _, p := range slices.Clone(paths) {
		if at, err := filepath.EvalSymlinks(p); err == nil && at != p {
			paths = append(paths, at)
		}
	}
	return paths
}

// real is the path of a file below a folder without links on the way to it.
func real(root *os.Root, at string) string {
	full := filepath.Join(root.Name(), filepath.FromSlash(at))
	if dir, err := filepath.EvalSymlinks(filepath.Dir(full)); err == nil {
		return filepath.Join(dir, filepath.Base(full))
	}
	return full
}
