package attempt

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers/failure"
)

// probeBytes is how much a disk must still take.
const probeBytes = 64 << 10

// Full tries whether a folder's disk still takes a file: the class of failure if it does not,
// "" if it does. A job's log does not show this, because it is on the same disk.
func Full(dir string) string {
	f, err := os.CreateTemp(dir, ".muster-room-*")
	if err == nil {
		_, err = f.Write(make([]byte, probeBytes))
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if !NoSpace(err) {
		return ""
	}
	return fullClass(dir)
}

// fullClass is what a full disk lacks: room, or inodes. Where a folder could not be made, its
// parent shows it.
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
