package attempt

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/providers"
)

// small mounts a file system of a megabyte and a few inodes.
func small(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("muster-test", dir, "tmpfs", 0, "size=1m,nr_inodes=20"); err != nil {
		needs.Absent(t, "mount: ", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

func TestSystemFull(t *testing.T) {
	dir := small(t)
	if got := Full(dir); got != "" {
		t.Errorf("an empty disk: %q", got)
	}
	f, err := os.Create(filepath.Join(dir, "big"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4<<10))
	}
	f.Close()
	if got := Full(dir); got != "disk_full" {
		t.Errorf("a full disk: %q", got)
	}
	os.Remove(f.Name())
	for i, err := 0, error(nil); err == nil; i++ {
		err = os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o644)
	}
	if got := Full(dir); got != "no_inodes" {
		t.Errorf("no inodes: %q", got)
	}
	if got := Full(filepath.Join(dir, "nowhere")); got != "" {
		t.Errorf("a folder that is not there: %q", got)
	}
}

// TestRoomBesideFiles: a file in the place of an output's folder does not keep a launch waiting
// for room.
func TestRoomBesideFiles(t *testing.T) {
	t.Parallel()
	j := &providers.Job{Token: "0123456789abcdef0123456789abcdef", Workdir: t.TempDir(), Outputs: []providers.Output{{Name: "o", Kind: "glob", Path: "out/*"}, {Name: "p", Kind: "path", Path: "out/deep/p"}}}
	if err := os.WriteFile(filepath.Join(j.Workdir, "out"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if class, dir := NoRoom(j, 1); class != "" {
		t.Errorf("%s: %s", class, dir)
	}
}
