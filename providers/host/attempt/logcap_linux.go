package attempt

import (
	"os"

	"golang.org/x/sys/unix"
)

// punchHole gives the space of a part of a file back. fallocate(2), FALLOC_FL_PUNCH_HOLE.
func punchHole(f *os.File, from, size int64) {
	_ = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, from, size)
}
