package trust

import (
	"os"
	"path/filepath"
)

// A follower finds where files of a workdir are, through links.
type follower struct {
	g       *Guard
	workdir string
	inside  map[string]bool // by folder
}

// outside is the folder outside the checkout that a file is in: the target of a
// link of the checkout, the workdir, or the file's own. It is "" for a file in the
// checkout.
func (f *follower) outside(path string) string {
	if f.isInside(path) {
		return ""
	}
	link := path
	for up := filepath.Dir(path); up != link && !f.folder(up); up = filepath.Dir(up) {
		link = up
	}
	switch real, err := filepath.EvalSymlinks(link); {
	case filepath.Dir(link) == link: // nothing above is in the checkout
	case err != nil:
		return filepath.Dir(path)
	case isFolder(real):
		return real
	default:
		return filepath.Dir(real)
	}
	if within(f.workdir, path) {
		return f.workdir
	}
	return filepath.Dir(path)
}

func (f *follower) isInside(path string) bool {
	if !f.folder(filepath.Dir(path)) {
		return false
	}
	if _, err := os.Readlink(path); err != nil {
		return true // no link
	}
	return f.g.Inside(path)
}

// folder reports whether a folder is in the checkout.
func (f *follower) folder(dir string) bool {
	in, known := f.inside[dir]
	if !known {
		in = f.g.Inside(dir)
		f.inside[dir] = in
	}
	return in
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
