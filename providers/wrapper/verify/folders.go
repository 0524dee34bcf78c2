package verify

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// statsFirst is how many paths of one folder are looked at one by one before
// the folder is listed.
const statsFirst = 3

// Folders knows which paths below a workdir exist. A folder is listed once,
// however many of its paths are asked for, and not at all where a folder above
// it does not exist. Not for concurrent use.
type Folders struct {
	workdir string
	names   map[string]map[string]bool // by folder; nil: not listed, or it cannot be
	asked   map[string]int             // paths of a folder that was not listed
}

// NewFolders knows nothing yet.
func NewFolders(workdir string) *Folders {
	return &Folders{workdir: filepath.Clean(workdir), names: map[string]map[string]bool{}, asked: map[string]int{}}
}

// Has reports whether anything is at a path, a broken link included.
func (f *Folders) Has(path string) bool { return f.has(join(f.workdir, path)) }

func (f *Folders) has(path string) bool {
	if path == f.workdir || path == "/" {
		return true
	}
	dir, name := filepath.Split(path)
	dir = filepath.Clean(dir)
	if names := f.names[dir]; names != nil {
		return names[name]
	}
	if !f.has(dir) {
		f.names[dir] = map[string]bool{}
		return false
	}
	if f.asked[dir]++; f.asked[dir] > statsFirst {
		if f.names[dir] = list(dir); f.names[dir] != nil {
			return f.names[dir][name]
		}
	}
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// list is nil where a folder cannot be listed.
func list(dir string) map[string]bool {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	all, err := d.Readdirnames(-1)
	if err != nil {
		return nil
	}
	names := make(map[string]bool, len(all))
	for _, name := range all {
		names[name] = true
	}
	return names
}
