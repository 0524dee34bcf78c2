package attempt

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers/failure"
)

// probeBytes is what a disk must still take not to count as full.
const probeBytes = 64 << 10

// Full tries whether a folder's disk still takes a file: the class of failure
// if it does not, "" if it does. What a job on a full disk wanted to say of it
// is not in its log, which lies there, too.
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

// fullClass is what a disk lacks that takes nothing more: room, or inodes. Of a
// folder that could not be made the one above it says so.
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
