// Package disk gives a campaign's functions their only access to files and
// folders. It confines them to the campaign's folder and to folders that the
// user allowed.
package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// A Disk answers functions' questions about files and folders.
type Disk struct {
	Base  string   // relative paths start here
	Roots []string // folders beside Base from which files may be read
}

// roots are all folders from which files may be read.
func (d Disk) roots() []string { return append([]string{d.base()}, d.Roots...) }

func (d Disk) base() string {
	if d.Base == "" {
		return "."
	}
	return d.Base
}

// MaxText bounds the text of one file, in bytes.
const MaxText = 16 << 20

// Text is the content of a file.
func (d Disk) Text(p string) (string, error) {
	f, err := d.open(p)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxText+1))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", p, err)
	}
	if len(b) > MaxText {
		return "", fmt.Errorf("%s is larger than %d MiB", p, MaxText>>20)
	}
	return string(b), nil
}

// Sum is the SHA-256 of a file of any size, hexadecimal.
func (d Disk) Sum(p string) (string, error) {
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

// Exists reports whether a regular file is there. A path outside the roots is an error.
func (d Disk) Exists(p string) (bool, error) {
	root, rel, err := Locate(resolvePath(d.base(), p), d.roots())
	if outside := (*OutsideError)(nil); errors.As(err, &outside) {
		return false, &OutsideError{p}
	}
	if err != nil {
		return false, nil
	}
	info, err := os.Stat(filepath.Join(root, rel))
	return err == nil && info.Mode().IsRegular(), nil
}

// Set is the files in a folder that match a glob, sorted. Links that lead out of
// the roots lead nowhere.
func (d Disk) Set(folder, glob string) ([]string, error) {
	names, err := d.glob(folder, glob)
	slices.Sort(names)
	return names, err
}

func (d Disk) glob(folder, glob string) ([]string, error) {
	root, rel, err := Locate(resolvePath(d.base(), folder), d.roots())
	if outside := (*OutsideError)(nil); errors.As(err, &outside) {
		return nil, &OutsideError{folder}
	}
	if err != nil {
		return nil, nil
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, nil
	}
	defer dir.Close()
	below, err := fs.Sub(dir.FS(), filepath.ToSlash(rel))
	if err != nil {
		return nil, err
	}
	glob = filepath.ToSlash(filepath.Clean(glob))
	if !doublestar.ValidatePattern(glob) {
		return nil, doublestar.ErrBadPattern
	}
	if slices.Contains(strings.Split(glob, "/"), "..") {
		return nil, &OutsideError{glob}
	}
	files := &bounded{FS: below, dir: filepath.Join(root, rel), roots: d.roots(), lists: map[string][]fs.DirEntry{}, infos: map[string]fs.FileInfo{}}
	names, err := doublestar.Glob(files, glob, doublestar.WithFilesOnly(), doublestar.WithFailOnIOErrors())
	if files.seen > mostEntries {
		return nil, errEntries
	}
	return names, err
}

// Abs is an absolute path.
func (d Disk) Abs(p string) (string, error) {
	return filepath.Abs(resolvePath(d.base(), p))
}

// Home is a path with ~ replaced by the home folder.
func (d Disk) Home(p string) string {
	return expandHome(p)
}

// open opens a regular file in the roots.
func (d Disk) open(p string) (*os.File, error) {
	f, err := Open(resolvePath(d.base(), p), d.roots())
	outside := (*OutsideError)(nil)
	switch {
	case err == nil:
		return f, nil
	case errors.As(err, &outside):
		return nil, &OutsideError{p}
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s", p)
	case errors.Is(err, errIrregular):
		return nil, fmt.Errorf("%s is not a regular file", p)
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return nil, fmt.Errorf("read %s: %w", p, err)
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
