//go:build unix

package refresh

import (
	"errors"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/state"
)

// A looker looks at many files below few folders: from the folder, so that its
// path is not walked each time. The zero value works.
type looker struct {
	dir    string
	fd     int
	opened bool
}

// unchanged reports whether the file of an output is as recorded.
func (l *looker) unchanged(workdir string, o *state.Output) bool {
	var st unix.Stat_t
	if !l.stat(workdir, o.Path, &st) {
		return false
	}
	return st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size == o.Size && unix.TimespecToNsec(st.Mtim) == o.MTime && uint64(st.Ino) == o.Inode &&
		(o.CTime == 0 || unix.TimespecToNsec(st.Ctim) == o.CTime)
}

func (l *looker) stat(workdir, path string, st *unix.Stat_t) bool {
	at := unix.AT_FDCWD
	switch {
	case filepath.IsAbs(path):
	case strings.Contains(path, "..") || !l.enter(workdir): // a/../b is b, whatever a links to
		path = filepath.Join(workdir, path)
	default:
		at = l.fd
	}
	for {
		err := unix.Fstatat(at, path, st, 0)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// enter opens a folder and keeps it open until the next.
func (l *looker) enter(dir string) bool {
	if dir == l.dir && dir != "" {
		return l.opened
	}
	l.close()
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	l.dir, l.fd, l.opened = dir, fd, err == nil
	return l.opened
}

func (l *looker) close() {
	if l.opened {
		_ = unix.Close(l.fd)
	}
	l.dir, l.opened = "", false
}
