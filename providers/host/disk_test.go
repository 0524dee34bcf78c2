package host

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// smallDisk mounts a file system of so many KiB.
func smallDisk(t *testing.T, dir, kib string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("muster-test", dir, "tmpfs", 0, "mode=0700,size="+kib+"k"); err != nil {
		needs.Absent(t, "mount: ", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
}

// fill writes a file until its disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4<<10))
	}
	f.Close()
}

// A job whose log is on the disk that it has filled cannot say why it failed: the disk says
// it.
func TestSystemFullWorkdir(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	smallDisk(t, w.place.Workdir, "1024")
	j := w.job("cat /dev/zero > fill; echo lost >&2; exit 1", "out")
	w.submit(j)
	if o := w.wait(j)[0]; o.Status != offer.Failed || o.Class != "disk_full" {
		t.Errorf("%+v", o)
	}
}

// With muster off: on a full volume nothing more is started, whichever queue it
// is that looks; when there is room it goes on.
func TestSystemAloneFullWorkdir(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.place.CPUs = 1
	smallDisk(t, w.place.Workdir, "1024")
	flag := filepath.Join(w.dir, "go")
	first := w.job("while [ ! -e " + flag + " ]; do sleep 0.1; done")
	second := w.job("echo > out", "out")
	w.submit(first, second)
	w.until("a start", func() bool { return w.seen[first.Token].Status == offer.Running })
	fill(t, w.path("fill"))
	why := "nothing starts: the volume of " + w.place.Workdir + ": the disk is full"
	w.poll("the reason", func() bool { o := w.find(second); return o.Reason == why && o.Cause == offer.NoRoom })
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if o := w.wait(first)[0]; o.Status != offer.Completed { // what runs goes on
		t.Errorf("%+v", o)
	}
	w.kill()
	w.poll("the reason, of the next queue", func() bool { return w.find(second).Reason == why })
	if o := w.find(second); o.Status != offer.Queued || o.Attempt != 1 {
		t.Errorf("%+v", o)
	}
	w.client.Close()
	os.Remove(w.path("fill"))
	w.poll("its output", func() bool { _, err := os.Stat(w.path("out")); return err == nil })
	if o := w.wait(second)[0]; o.Status != offer.Completed || o.Attempt != 1 {
		t.Errorf("%+v", o)
	}
}

// Who waits because the spool is full is told so, and goes on when it is not.
func TestSystemFullSpoolIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	smallDisk(t, w.client.Spool, "2048")
	no, yes := false, true
	control := func(hold *bool) {
		t.Helper()
		if err := w.client.Control(context.Background(), w.place, providers.ControlRequest{Fence: 1, Hold: hold}); err != nil {
			t.Fatal(err)
		}
	}
	control(&yes)
	j := w.job("echo > out", "out")
	j.Env = []providers.EnvVar{{Name: "BIG", Value: strings.Repeat("x", 64<<10)}} // more than the log's last page takes
	w.submit(j)
	fill(t, w.client.Spool+"/fill")
	go func() { // it may be that nothing can be written down, and it is refused
		for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			if w.client.Control(context.Background(), w.place, providers.ControlRequest{Fence: 1, Hold: &no}) == nil {
				return
			}
		}
	}()
	w.until("the reason", func() bool {
		return strings.Contains(w.seen[j.Token].Reason, "spool cannot be written, so nothing starts")
	})
	if o := w.seen[j.Token]; o.Status != offer.Queued || o.Cause != offer.NoSpool || !strings.Contains(o.Reason, "no space left") {
		t.Errorf("%+v", o)
	}
	os.Remove(w.client.Spool + "/fill")
	if o := w.wait(j)[0]; o.Status != offer.Completed {
		t.Errorf("%+v", o)
	}
}
