package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// RootsEnv is the variable with which a user names more folders that campaigns may
// read files from, separated as in PATH.
const RootsEnv = "MUSTER_FILE_ROOTS"

// Roots are the folders of RootsEnv in an environment; of a variable given twice
// the last counts. Relative ones mean something else in every folder and are
// left out.
func Roots(environ []string) (out []string) {
	for _, v := range slices.Backward(environ) {
		if list, ok := strings.CutPrefix(v, RootsEnv+"="); ok {
			for _, dir := range filepath.SplitList(list) {
				if filepath.IsAbs(dir) {
					out = append(out, dir)
				}
			}
			return out
		}
	}
	return nil
}

// system are folders whose files describe processes and devices; no root holds them.
var system = []string{"/proc", "/sys", "/dev", "/run"}

// An OutsideError says that a path leads out of the folders that may be read.
type OutsideError struct{ Path string }

func (e *OutsideError) Error() string {
	return fmt.Sprintf("%s is outside the campaign's folder; %s names other folders that files may be read from", e.Path, RootsEnv)
}

// Locate is where a path leads, through links, and the root that it is in. A path
// that is in none is an OutsideError, whether it is there or not.
func Locate(path string, roots []string) (root, rel string, err error) {
	at, missing := path, error(nil)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		at = real
	} else if missing = err; !errors.Is(err, fs.ErrNotExist) {
		missing = &OutsideError{path} // a link that cannot be followed is not followed
	} else if up, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		at = filepath.Join(up, filepath.Base(path))
	}
	for _, dir := range roots {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(real, at); err == nil && filepath.IsLocal(rel) && !isSystem(at) {
			return real, rel, missing
		}
	}
	return "", "", &OutsideError{path}
}

func isSystem(path string) bool {
	return slices.ContainsFunc(system, func(dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") })
}

// Open opens a regular file in one of the roots. Links are followed within them.
func Open(path string, roots []string) (*os.File, error) {
	root, rel, err := Locate(path, roots)
	if err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(root) // a link that is put there in between leads nowhere
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	info, err := dir.Stat(rel)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // a pipe or device would never end
		return nil, errIrregular
	}
	return dir.Open(rel)
}

var errIrregular = errors.New("not a regular file")

// most entries that one glob looks at: seconds of work.
const mostEntries = 200_000

var errEntries = fmt.Errorf("over %d files and folders were looked at; begin with a smaller folder, or write fewer **", mostEntries)

// bounded is a folder that errs once a glob has looked at mostEntries of its entries. An
// entry that cannot be read, or leads out of the roots, is absent. A glob with several **
// lists the same folder many times: bounded reads it once.
type bounded struct {
	fs.FS
	dir   string // where FS is
	roots []string
	seen  int
	lists map[string][]fs.DirEntry
	infos map[string]fs.FileInfo // nil = absent
}

// look counts entries that are looked at.
func (b *bounded) look(n int) error {
	if b.seen += n; b.seen > mostEntries {
		return errEntries
	}
	return nil
}

func (b *bounded) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := b.look(1); err != nil {
		return nil, err
	}
	if list, ok := b.lists[name]; ok {
		return list, nil
	}
	list, err := fs.ReadDir(b.FS, name)
	if err != nil { // an absolute link may lead back into the roots
		if root, rel, err := Locate(filepath.Join(b.dir, name), b.roots); err == nil {
			list, _ = os.ReadDir(filepath.Join(root, rel))
		}
	}
	b.lists[name] = list
	return list, b.look(len(list))
}

func (b *bounded) Stat(name string) (fs.FileInfo, error) {
	if err := b.look(1); err != nil {
		return nil, err
	}
	info, ok := b.infos[name]
	if !ok {
		info = b.stat(name)
		b.infos[name] = info
	}
	if info == nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return info, nil
}

func (b *bounded) stat(name string) fs.FileInfo {
	if info, err := fs.Stat(b.FS, name); err == nil {
		return info
	}
	if root, rel, err := Locate(filepath.Join(b.dir, name), b.roots); err == nil {
		if info, err := os.Stat(filepath.Join(root, rel)); err == nil {
			return info
		}
	}
	return nil
}
