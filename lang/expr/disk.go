package expr

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// A disk is all that functions see of files and folders: whatever they ask of
// it is noted.
type disk struct {
	base  string // relative paths start here
	reads *Reads
}

// ask asks a question again; false: there is no such question.
func (d disk) ask(q Question) bool {
	switch q.Function {
	case "file":
		_, _ = d.text(q.Path)
	case "filesha256":
		_, _ = d.sum(q.Path)
	case "fileexists":
		d.exists(q.Path)
	case "fileset":
		_, _ = d.set(q.Path, q.Glob)
	case "abspath":
		_, _ = d.abs(q.Path)
	case "pathexpand":
		d.home(q.Path)
	default:
		return false
	}
	return true
}

// text is what a file holds.
func (d disk) text(p string) (string, error) {
	text, err := d.read(p)
	d.reads.note(Question{Function: "file", Path: p}, text, err)
	return text, err
}

func (d disk) read(p string) (string, error) {
	f, err := d.open(p)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", p, err)
	}
	if len(b) > maxText {
		return "", fmt.Errorf("%s is larger than %d MiB", p, maxText>>20)
	}
	return string(b), nil
}

// sum is the SHA-256 of a file of any size, hexadecimal.
func (d disk) sum(p string) (string, error) {
	sum, err := d.hash(p)
	d.reads.note(Question{Function: "filesha256", Path: p}, sum, err)
	return sum, err
}

func (d disk) hash(p string) (string, error) {
	f, err := d.open(p)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", p, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// exists reports whether a regular file is there.
func (d disk) exists(p string) bool {
	info, err := os.Stat(resolvePath(d.base, p))
	there := err == nil && info.Mode().IsRegular()
	d.reads.note(Question{Function: "fileexists", Path: p}, fmt.Sprint(there), nil)
	return there
}

// set is the files in a folder that match a glob, sorted.
func (d disk) set(folder, glob string) ([]string, error) {
	names, err := doublestar.Glob(os.DirFS(resolvePath(d.base, folder)), filepath.ToSlash(filepath.Clean(glob)), doublestar.WithFilesOnly())
	slices.Sort(names)
	d.reads.note(Question{Function: "fileset", Path: folder, Glob: glob}, strings.Join(names, "\x00"), err)
	return names, err
}

// abs is an absolute path.
func (d disk) abs(p string) (string, error) {
	full, err := filepath.Abs(resolvePath(d.base, p))
	d.reads.note(Question{Function: "abspath", Path: p}, full, err)
	return full, err
}

// home is a path with ~ replaced by the home folder.
func (d disk) home(p string) string {
	full := expandHome(p)
	d.reads.note(Question{Function: "pathexpand", Path: p}, full, nil)
	return full
}

// open opens a regular file; a pipe or device would never end.
func (d disk) open(p string) (*os.File, error) {
	full := resolvePath(d.base, p)
	info, err := os.Stat(full)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s", p)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", p, errors.Unwrap(err))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", p)
	}
	f, err := os.Open(full)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p, errors.Unwrap(err))
	}
	return f, nil
}

func expandHome(p string) string {
	if p != "~" && !strings.HasPrefix(p, "~/") {
		return p
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return p
	}
	return filepath.Join(home, p[1:])
}

func resolvePath(base, p string) string {
	p = expandHome(p)
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(base, p)
}
