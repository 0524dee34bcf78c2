package attempt

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers"
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

// TestNoRoomWhereNothingCanBeWritten: the folder that a job may not write to is named, be it
// its workdir, that of its log, or one of its outputs; a folder elsewhere is not muster's to
// wait for.
func TestNoRoomWhereNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), t.TempDir()
	job := &providers.Job{Token: "0123456789abcdef", Workdir: dir, Outputs: []providers.Output{
		{Name: "x", Kind: "path", Path: "out/a/x"}, {Name: "y", Kind: "glob", Path: "logs/*.txt"}, {Name: "z", Kind: "path", Path: filepath.Join(elsewhere, "no", "z")}}}
	logs := filepath.Dir(LogPath(dir, job.Token, 1, true))
	for _, d := range []string{logs, filepath.Join(dir, "out", "a"), filepath.Join(dir, "logs")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if class, at := NoRoom(job, 1); class != "" {
		t.Errorf("all can be written to: %s at %s", class, at)
	}
	refuse := func(d string) (undo func()) { // root writes in spite of modes, but not where nothing is writable
		if os.Getuid() != 0 {
			if err := os.Chmod(d, 0o555); err != nil {
				t.Fatal(err)
			}
			return func() { os.Chmod(d, 0o755) }
		}
		if err := unix.Mount("muster-test", d, "tmpfs", unix.MS_RDONLY, "size=64k"); err != nil {
			t.Skipf("nothing can be mounted read-only here: %v", err)
		}
		return func() { unix.Unmount(d, unix.MNT_DETACH) }
	}
	below := []string{filepath.Join(dir, "out", "a"), filepath.Join(dir, "logs")}
	if os.Getuid() != 0 {
		below = append(below, logs, dir)
	}
	for _, d := range below {
		undo := refuse(d)
		class, at := NoRoom(job, 1)
		if class != failure.Unwritable || at != d {
			t.Errorf("%s cannot be written to: %q at %s", d, class, at)
		}
		if why := Unwritten(at); !strings.HasPrefix(why, d) {
			t.Errorf("it is said of %q", why)
		}
		undo()
	}
	defer refuse(elsewhere)()
	if class, at := NoRoom(job, 1); class != "" {
		t.Errorf("a folder outside the workdir: %s at %s", class, at)
	}
}
