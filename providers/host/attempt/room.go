package attempt

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/room"
)

// probeBytes is how much a disk must still take.
const probeBytes = 64 << 10

// NoRoom is the class of failure of a job whose workdir takes nothing more, and the folder
// that shows it; "" where all that the job writes to takes files. The folders of its outputs
// are only asked: a glob could find a trial file. A file in the place of one is no matter of
// room: the launch moves it aside, or names it.
func NoRoom(j *providers.Job, n int) (class, dir string) {
	for _, dir := range []string{filepath.Dir(LogPath(j.Workdir, j.Token, n, true)), j.Workdir} {
		if class := Full(dir); class != "" {
			return class, dir
		}
	}
	for _, dir := range folders(j) {
		if Inside(j.Workdir, dir) && !underFile(dir) && room.Unwritable(dir) != "" {
			return failure.Unwritable, dir
		}
	}
	return "", ""
}

// underFile reports whether a file is in the place of a folder, or of one above it.
func underFile(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && !info.IsDir() || errors.Is(err, unix.ENOTDIR)
}

// SeeRoom notes the finding of NoRoom in the evidence on a launch, and returns the
// folder.
func SeeRoom(ev *failure.Evidence, j *providers.Job, n int) (dir string) {
	if ev.NoRoom, dir = NoRoom(j, n); ev.NoRoom == failure.Unwritable {
		ev.Unwritten = Unwritten(dir)
	}
	return dir
}

// Unwritten says why a folder that NoRoom found cannot be written to.
func Unwritten(dir string) string {
	return cmp.Or(room.Unwritable(dir), dir+" cannot be written to")
}

// Inside reports whether a path is a folder or is below it, by name.
func Inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Denied reports whether an error says that a file may not be written or read.
func Denied(err error) bool {
	return errors.Is(err, os.ErrPermission) || errors.Is(err, unix.EROFS)
}

// Full tries whether a folder still takes a file: the class of failure if it does not, "" if
// it does. A job's log does not show this, because it is on the same disk.
func Full(dir string) string {
	f, err := os.CreateTemp(dir, ".muster-room-*")
	if err == nil {
		_, err = f.Write(make([]byte, probeBytes))
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	switch {
	case NoSpace(err):
		return fullClass(dir)
	case Denied(err):
		return failure.Unwritable
	}
	return ""
}

// fullClass is the class of a full disk: without room, or without inodes. Where a folder
// could not be made, its parent shows it.
func fullClass(dir string) string {
	var st unix.Statfs_t
	for unix.Statfs(dir, &st) != nil {
		if dir == filepath.Dir(dir) {
			return failure.DiskFull
		}
		dir = filepath.Dir(dir)
	}
	return lacks(st)
}

func lacks(st unix.Statfs_t) string {
	if st.Files > 0 && st.Ffree == 0 {
		return failure.NoInodes
	}
	return failure.DiskFull
}
