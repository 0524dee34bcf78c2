package attempt

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers/failure"
)

// TestWhatADiskLacks: one that has bytes left and no inodes lacks those; a file
// system that counts none has none to lack.
func TestWhatADiskLacks(t *testing.T) {
	t.Parallel()
	for want, disks := range map[string][]unix.Statfs_t{
		failure.NoInodes: {{Files: 400, Ffree: 0, Blocks: 100, Bfree: 66, Bavail: 66}, {Files: 400}},
		failure.DiskFull: {{Files: 400, Ffree: 1}, {Files: 0, Ffree: 0, Blocks: 100}},
	} {
		for _, st := range disks {
			if got := lacks(st); got != want {
				t.Errorf("%+v: %s, want %s", st, got, want)
			}
		}
	}
}

// TestStartClassOfAFullDisk: what could not be written says where, also below a
// folder that could not be made.
func TestStartClassOfAFullDisk(t *testing.T) {
	t.Parallel()
	below := filepath.Join(t.TempDir(), "not", "there")
	err := fmt.Errorf("log: %w", &os.PathError{Op: "mkdir", Path: below, Err: unix.ENOSPC})
	if got := StartClass(err); got != failure.DiskFull {
		t.Errorf("on a disk with inodes: %s", got)
	}
	if got := StartClass(unix.EDQUOT); got != failure.DiskFull {
		t.Errorf("a quota, nobody says where: %s", got)
	}
}
