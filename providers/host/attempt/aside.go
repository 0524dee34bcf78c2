package attempt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/muster-run/muster/providers"
)

// MoveAside moves the outputs of an earlier run out of the way, below
// .muster/replaced/ in the workdir. What is there already was moved by a
// start that did not come to its claim.
func MoveAside(j *providers.Job) error {
	to := j.MoveAside
	if !filepath.IsAbs(to) && !strings.Contains(to, string(filepath.Separator)) {
		to = filepath.Join(".muster", "replaced", to)
	}
	to = InWorkdir(j.Workdir, to)
	for _, o := range j.Outputs {
		if o.Shared {
			continue
		}
		path := InWorkdir(j.Workdir, o.Path)
		files := []string{path}
		if o.Kind == "glob" {
			var err error
			if files, err = doublestar.FilepathGlob(path); err != nil {
				return fmt.Errorf("move output %s aside: %w", o.Name, err)
			}
		}
		for _, f := range files {
			if err := MoveInto(to, j.Workdir, f); err != nil {
				return fmt.Errorf("move output %s aside: %w", o.Name, err)
			}
		}
	}
	return nil
}

// MoveInto moves a file below a folder, keeping its path from the workdir.
func MoveInto(to, workdir, path string) error {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	rel, err := filepath.Rel(workdir, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		rel = strings.TrimPrefix(path, "/")
	}
	dest := filepath.Join(to, rel)
	if err := os.MkdirAll(filepath.Dir(dest), 0o777); err != nil {
		return err
	}
	if _, err := os.Lstat(dest); err == nil {
		return fmt.Errorf("%s is there already", dest)
	}
	return os.Rename(path, dest)
}
