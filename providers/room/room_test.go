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
func TestSystemRoom(t *testing.T) {
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
	found := append(Look(0, dir, providers.Check{}, 0), Look(1, t.TempDir(), providers.Check{}, 0)...)
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
	if why := lacks(dir, 2<<20); !strings.Contains(why, "the disk is full, and the remaining jobs need 2 MiB") {
		t.Errorf("no byte free, and 2 MiB needed: %q", why)
	}
}

// A plan counts the files that its jobs will leave, and ours of each, as it does
// their bytes: a volume of many bytes and few inodes is found before it is full.
func TestSystemInodes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("muster-test", dir, "tmpfs", 0, "size=8m,nr_inodes=41"); err != nil {
		needs.Absent(t, "mount: ", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	at := filepath.Join(dir, "to", "be", "made")
	found := Look(3, at, providers.Check{Files: 60, Jobs: 30}, 2)
	if len(found) != 1 || found[0].Check != 3 || found[0].Warning || found[0].Summary != "There is no room for results" ||
		!strings.HasPrefix(found[0].Detail, at+": 40 inodes free of about 120 needed by the remaining jobs;") {
		t.Errorf("120 files on 40 inodes: %+v", found)
	}
	for _, c := range []providers.Check{{}, {Files: 40}, {Files: 20, Jobs: 10}} {
		if found := Look(0, at, c, 2); len(found) != 0 {
			t.Errorf("%+v: %+v", c, found)
		}
	}
	if why := lacksInodes("/proc", 1<<40); why != "" {
		t.Errorf("a file system without a number of inodes: %s", why)
	}
}

// TestNear: a person hears of a volume from 95 % of its bytes or inodes on, and not of a
// large one that has room all the same.
func TestNear(t *testing.T) {
	t.Parallel()
	// Requirement: STO-07
	const block = 4096
	volume := func(blocks, avail, files, unused uint64) (st unix.Statfs_t) {
		st.Bsize, st.Blocks, st.Bfree, st.Bavail, st.Files, st.Ffree = block, blocks, avail, avail, files, unused
		return st
	}
	for _, v := range []struct {
		name string
		st   unix.Statfs_t
		want string
	}{
		{"94 % of the bytes", volume(1000, 60, 0, 0), ""},
		{"95 % of the bytes", volume(1_000_000, 50_000, 0, 0), "95 % of it is in use, and 195 MiB are free"},
		{"97 % of 100 TB", volume(25e9, 75e7, 0, 0), ""},
		{"94 % of the inodes", volume(1000, 900, 100, 6), ""},
		{"96 % of the inodes", volume(1000, 900, 100, 4), "96 % of its inodes are in use"},
		{"no inodes are told", volume(1000, 900, 0, 0), ""},
	} {
		if got := near(v.st); got != v.want {
			t.Errorf("%s: %q, want %q", v.name, got, v.want)
		}
	}
}
