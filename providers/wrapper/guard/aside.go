package guard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/kernel"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// replaced is the folder, below a workdir, of files moved aside.
const replaced = ".muster/replaced"

// Muster reports whether a path below a workdir is muster's own: a record, a log, or a file
// that was moved aside.
func Muster(workdir, path string) bool {
	rel, err := filepath.Rel(workdir, path)
	return err == nil && verify.OfMuster(rel)
}

// moveAll moves the files of outputs to the folder that the job names.
func moveAll(j *providers.Job, outputs []providers.Output) error {
	for _, o := range outputs {
		if o.Shared && j.Guard == nil {
			continue
		}
		at := verify.Stat(j.Workdir, o).Path
		files := []string{inWorkdir(j.Workdir, at)}
		if at == o.Path && o.Kind == "glob" {
			var err error
			if files, err = Matches(j.Workdir, o.Path); err != nil {
				return fmt.Errorf("move output %s aside: %w", o.Name, err)
			}
		}
		for _, f := range files {
			if err := Aside(j, f); err != nil {
				return fmt.Errorf("move output %s aside: %w", o.Name, err)
			}
		}
	}
	return nil
}

// Aside moves a file or folder of a job to the Folder for replaced files.
func Aside(j *providers.Job, path string) error { return Move(j.Workdir, Folder(j), path) }

// Folder is where a job's files are moved aside to.
func Folder(j *providers.Job) string {
	to := j.MoveAside
	switch {
	case to == "":
		to = filepath.Join(replaced, j.Token)
	case !strings.Contains(to, string(filepath.Separator)):
		to = filepath.Join(replaced, to)
	}
	return inWorkdir(j.Workdir, to)
}

// Matches are the files and folders of a pattern; only the declared part is one.
func Matches(workdir, pattern string) ([]string, error) {
	head, rest := doublestar.SplitPattern(filepath.ToSlash(pattern))
	base := inWorkdir(workdir, filepath.FromSlash(head))
	names, err := doublestar.Glob(os.DirFS(base), rest)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	names = slices.DeleteFunc(names, verify.OfMuster)
	for i, name := range names {
		names[i] = filepath.Join(base, filepath.FromSlash(name))
	}
	return names, err
}

// Move renames a file or folder into another folder, keeping its path from the workdir, and
// never over another file. It moves a file of another filesystem to a folder on that one. A
// missing file counts as moved.
func Move(workdir, to, path string) error {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	rel, err := filepath.Rel(workdir, path)
	if err != nil || !filepath.IsLocal(rel) {
		rel = strings.TrimPrefix(path, "/")
	}
	err = rename(path, filepath.Join(to, rel))
	if errors.Is(err, unix.EXDEV) {
		return rename(path, filepath.Join(filepath.Dir(path), verify.Elsewhere, filepath.Base(to), filepath.Base(path)))
	}
	return err
}

// Rename gives a file or folder another path, and makes the folders above it. It never renames
// over another file, and skips a missing one.
func Rename(from, to string) error {
	if _, err := os.Lstat(from); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	err := kernel.Rename(from, to)
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
		if err != nil {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
		}
		return nil
	}
	if _, err := os.Lstat(to); !errors.Is(err, os.ErrNotExist) { // a filesystem that knows no such flag
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: unix.EEXIST}
	}
	return os.Rename(from, to)
}

// rename makes the folders above dest. Where dest is taken, it counts on.
func rename(path, dest string) error {
	if err := os.MkdirAll(filepath.Dir(dest), 0o777); err != nil {
		return err
	}
	name := dest
	for n := 1; ; n++ {
		if _, err := os.Lstat(name); errors.Is(err, os.ErrNotExist) {
			return os.Rename(path, name)
		}
		name = dest + "." + strconv.Itoa(n)
	}
}

func inWorkdir(workdir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(workdir, path)
}
