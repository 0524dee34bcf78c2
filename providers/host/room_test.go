package host

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// TestSystemFullDiskIsWaitedOut: a job that filled its volume is launched again
// when there is room, with no delay written, and its phase goes on.
func TestSystemFullDiskIsWaitedOut(t *testing.T) {
	// Requirement: OOM-10, STO-05
	t.Parallel()
	w := newWorld(t)
	if err := unix.Mount("muster-test", w.place.Workdir, "tmpfs", 0, "size=4m"); err != nil {
		needs.Absent(t, "mount: ", err)
	}
	t.Cleanup(func() { unix.Unmount(w.place.Workdir, unix.MNT_DETACH) })
	if err := os.WriteFile(w.path("ballast"), make([]byte, 2<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	j := w.job(`dd if=/dev/zero of=out bs=1M count=3 && exit 0; exit 1`, "out")
	j.Retry = providers.Retry{On: []string{"disk_full"}, Max: 9}
	j.Breaker = providers.Breaker{SameError: 3, Share: 0.15}
	w.submit(j)
	w.until("it waits for room", func() bool {
		o := w.seen[j.Token]
		return o.Status == offer.Queued && o.Attempt == 2 && o.Reason != ""
	})
	if err := os.Remove(w.path("ballast")); err != nil {
		t.Fatal(err)
	}
	if o := w.wait(j)[0]; o.Status != offer.Completed || o.Attempt != 2 {
		t.Errorf("%+v", o)
	}
}
