package room

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/providers"
)

// A file system without inodes is full, however much room it has.
func TestRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("muster-test", dir, "tmpfs", 0, "size=1m,nr_inodes=100"); err != nil {
		needs.Absent(t, "mount: ", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	if why := lacks(dir, 512<<10); why != "" {
		t.Errorf("half of it: %s", why)
	}
	if why := lacks(dir, 2<<20); !strings.Contains(why, "of 2 MiB needed") {
		t.Errorf("more than there is: %q", why)
	}
	if why := Full(dir); why != "" {
		t.Errorf("nothing on it: %s", why)
	}
	for i := range 98 {
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if why := Full(filepath.Join(dir, "to", "be", "made")); !strings.Contains(why, "99 of 100 inodes are in use") {
		t.Errorf("99 of 100 inodes: %q", why)
	}
	found := append(Look(0, dir, providers.Check{}), Look(1, t.TempDir(), providers.Check{})...)
	if len(found) != 1 || found[0].Check != 0 || !found[0].Warning || !found[0].Pauses {
		t.Errorf("what is planned there stands, and waits; what works elsewhere does not: %+v", found)
	}
	if err := os.WriteFile(filepath.Join(dir, "0"), make([]byte, (1<<20)-4096), 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range 98 {
		os.Remove(filepath.Join(dir, strconv.Itoa(i+1)))
	}
	if why := Full(dir); why != "the disk is full but for 4096 bytes" {
		t.Errorf("a page free of 1 MiB: %q", why)
	}
	if err := os.WriteFile(filepath.Join(dir, "0"), make([]byte, 2<<20), 0o644); err == nil {
		t.Error("2 MiB fit into 1")
	}
	if why := Full(dir); why != "the disk is full" {
		t.Errorf("no byte free: %q", why)
	}
	if why := lacks(dir, 2<<20); !strings.Contains(why, "the disk is full, and the jobs still to be done need 2 MiB") {
		t.Errorf("no byte free, and 2 MiB needed: %q", why)
	}
}
