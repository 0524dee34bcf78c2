// Package attempt does the work around one attempt of a job, on the machine
// where it runs: it prepares the folders before, watches the processes, and
// examines the outputs after. Every queue and node program uses it.
package attempt

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/wrapper"
	"github.com/muster-run/muster/providers/wrapper/guard"
)

// Missing is a file without which a job does not start.
type Missing struct{ Path, What string }

func (m *Missing) Error() string { return m.What + ": " + m.Path }

// Required checks the files that must be there at launch.
func Required(j *providers.Job) error {
	for _, r := range j.Require {
		what := r.Message
		if what == "" {
			what = "a required file is not there"
		}
		fi, err := os.Stat(InWorkdir(j.Workdir, r.Path))
		if errors.Is(err, os.ErrNotExist) {
			return &Missing{Path: r.Path, What: what}
		}
		if err != nil {
			return fmt.Errorf("required file: %w", err)
		}
		if fi.Size() < r.MinSize {
			return &Missing{Path: fmt.Sprintf("%s has %d bytes of at least %d", r.Path, fi.Size(), r.MinSize), What: what}
		}
	}
	return nil
}

// MakeFolders makes the folders that a job's outputs and its checkpoint go into.
func MakeFolders(j *providers.Job) error {
	for i, dir := range folders(j) {
		if err := MakeFolder(j, dir); err != nil {
			return fmt.Errorf("folder of output %s: %w", j.Outputs[i].Name, err)
		}
	}
	if j.Checkpoint.Path != "" {
		dir := wrapper.CheckpointPath(j)
		if !j.Checkpoint.Glob {
			dir = filepath.Dir(dir)
		}
		if err := MakeFolder(j, dir); err != nil {
			return fmt.Errorf("folder of the checkpoint: %w", err)
		}
	}
	return nil
}

// folders are those of a job's outputs, in their order.
func folders(j *providers.Job) (out []string) {
	for _, o := range j.Outputs {
		dir := wrapper.OutputPath(j.Workdir, o)
		if o.Kind != "glob" {
			dir = filepath.Dir(dir)
		}
		out = append(out, dir)
	}
	return out
}

// MakeFolder makes a folder of a job, and those above it that are not there,
// as the job itself would under its umask.
func MakeFolder(j *providers.Job, dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("%s is not a folder. Move it away", dir)
	case !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ENOTDIR):
		return err
	}
	if up := filepath.Dir(dir); up != dir {
		if err := MakeFolder(j, up); err != nil {
			return err
		}
	}
	switch err := os.Mkdir(dir, 0o777); {
	case errors.Is(err, os.ErrExist): // another job's start was quicker
		return nil
	case err != nil || j.Umask == nil:
		return err
	}
	return os.Chmod(dir, 0o777&^os.FileMode(*j.Umask))
}

// WriteLists writes the list files of inputs that are lists, by input.
func WriteLists(j *providers.Job, f wrapper.Folder) (map[string]string, error) {
	var lists map[string]string
	for _, in := range j.Inputs {
		if !in.Listed() {
			continue
		}
		path := InWorkdir(j.Workdir, cmp.Or(in.List, filepath.Join(string(f), "list."+in.Name)))
		if err := MakeFolder(j, filepath.Dir(path)); err != nil {
			return nil, fmt.Errorf("list of input %s: %w", in.Name, err)
		}
		err := writeLines(path, in.Paths)
		if err == nil && in.Partial {
			err = writeLines(wrapper.MissingFile(path), in.Missing)
		}
		if err != nil {
			return nil, fmt.Errorf("list of input %s: %w", in.Name, err)
		}
		if lists == nil {
			lists = map[string]string{}
		}
		lists[in.Name] = path
	}
	return lists, nil
}

// writeLines writes a file with one text a line.
func writeLines(path string, lines []string) error {
	text := strings.Join(lines, "\n")
	if text != "" {
		text += "\n"
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// StartClass is the failure class of an error that kept a job from starting.
func StartClass(err error) string {
	var gone *Missing
	var foreign *guard.Foreign
	switch {
	case isChangedInput(err):
		return failure.InputChanged
	case errors.As(err, &foreign):
		return failure.NotItsOwn
	case errors.As(err, &gone), errors.Is(err, os.ErrNotExist):
		return failure.MissingFile
	case NoSpace(err):
		var at *os.PathError
		if errors.As(err, &at) {
			return fullClass(at.Path)
		}
		return failure.DiskFull
	}
	return failure.Unknown
}

// NoSpace reports whether an error is about a disk, or a quota, that is full.
func NoSpace(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// InWorkdir is a path of a job: a relative one is in its workdir.
func InWorkdir(workdir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(workdir, path)
}

// LogPath is the path of an attempt's stream, which follows from the token alone.
func LogPath(workdir, token string, attempt int, stderr bool) string {
	kind := ".out"
	if stderr {
		kind = ".err"
	}
	return filepath.Join(workdir, ".muster", "logs", token[:2], token+"."+strconv.Itoa(attempt)+kind)
}
