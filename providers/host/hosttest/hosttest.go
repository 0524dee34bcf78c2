// Package hosttest kills a host's queue for tests.
package hosttest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers/host/spool"
)

// Kill ends the queue of a spool at once, as kill -9 and the kernel do, and waits until it is
// gone. It waits for one that is just starting, which has the spool before it has written its
// name there. Without a queue it does nothing.
func Kill(t testing.TB, dir string) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); held(t, dir); time.Sleep(time.Millisecond) {
		if p := spool.Holder(dir); p.Alive() {
			_ = unix.Kill(p.PID, unix.SIGKILL)
		}
		if time.Now().After(end) {
			t.Fatalf("the queue of %s does not go", dir)
		}
	}
}

// held reports whether a queue has the spool.
func held(t testing.TB, dir string) bool {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
}
