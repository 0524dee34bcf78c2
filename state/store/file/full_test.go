package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

// A small disk has room for so many bytes more; what is written over costs
// nothing. Then it fails, with part of the write done.
type smallDisk struct {
	disk
	mu     sync.Mutex
	left   int64 // bytes
	syncs  int   // that succeed
	err    error
	failed bool
}

func (d *smallDisk) OpenFile(name string, flag int, perm fs.FileMode) (handle, error) {
	h, err := d.disk.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &smallFile{handle: h, d: d}, nil
}

type smallFile struct {
	handle
	d *smallDisk
}

func (f *smallFile) take(n int) int {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	n = int(min(int64(n), f.d.left))
	f.d.left -= int64(n)
	return n
}

func (f *smallFile) Write(p []byte) (int, error) {
	n := f.take(len(p))
	m, err := f.handle.Write(p[:n])
	if err == nil && n < len(p) {
		f.d.failed = true
		return m, &fs.PathError{Op: "write", Path: "x", Err: f.d.err}
	}
	return m, err
}

func (f *smallFile) WriteAt(p []byte, at int64) (int, error) {
	info, err := f.handle.Stat()
	if err != nil {
		return 0, err
	}
	grows := max(at+int64(len(p))-info.Size(), 0)
	if n := f.take(int(grows)); int64(n) < grows {
		f.d.failed = true
		return 0, &fs.PathError{Op: "write", Path: "x", Err: f.d.err}
	}
	return f.handle.WriteAt(p, at)
}

func (f *smallFile) Sync() error { return f.d.SyncDir("") }

func (d *smallDisk) SyncDir(string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.syncs--; d.syncs < 0 {
		d.failed = true
		return &fs.PathError{Op: "sync", Path: "x", Err: d.err}
	}
	return nil // no power fails here
}

// campaign runs sessions until something fails, and gives what was
// acknowledged: the number of the last event and the digest.
func runUntilItFails(t *testing.T, s *Store) (acked uint64, digest string, err error) {
	digest = state.New("").Digest()
	for round := range 3 {
		got, err := s.Acquire(ctx, "apply", 0)
		if err != nil {
			return acked, digest, err
		}
		n := got.(*session)
		for i := range 4 {
			e := state.Intended{Job: state.Job{Address: fmt.Sprintf("phase.p%d", 4*round+i)}, Attempt: state.Attempt{N: 1, Token: fmt.Sprint(round, i)}}
			if err = n.Append(e, state.Began{Lineage: "5e1f", Campaign: "c"}); err == nil {
				err = n.Sync(ctx)
			}
			if err != nil {
				if n.st.Seq != acked || n.st.Digest() != digest {
					t.Errorf("after %v the state is at event %d, not the acknowledged %d", err, n.st.Seq, acked)
				}
				if again := n.Append(e); !errors.Is(again, err) && again.Error() != err.Error() {
					t.Errorf("after %v an append gives %v", err, again)
				}
				if n.Sync(ctx) == nil {
					t.Errorf("after %v a sync succeeds", err)
				}
				_ = n.Close(ctx)
				return acked, digest, err
			}
			acked, digest = n.st.Seq, n.st.Digest()
		}
		if err := n.Close(ctx); err != nil {
			return acked, digest, err
		}
	}
	return acked, digest, nil
}

// The disk fills up after every possible number of bytes, and fsync fails
// every possible time: always an error with the way out, nothing acknowledged
// is lost, nothing else is there, and with room again it goes on.
func TestWritesFailEverywhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		limit func(d *smallDisk, n int)
		err   error
		step  int
	}{
		{"no space left after N bytes", func(d *smallDisk, n int) { d.left = int64(n) }, syscall.ENOSPC, 37},
		{"the Nth fsync fails", func(d *smallDisk, n int) { d.syncs = n }, syscall.EIO, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			const parts = 4 // side by side
			for part := range parts {
				t.Run(fmt.Sprint(part), func(t *testing.T) {
					t.Parallel()
					for n := part * c.step * stride(); fails(t, n, c.limit, c.err); n += parts * c.step * stride() {
					}
				})
			}
		})
	}
}

// fails runs sessions on a disk with a limit, and reports whether they reached it.
func fails(t *testing.T, n int, limit func(*smallDisk, int), why error) bool {
	t.Helper()
	dir := t.TempDir()
	d := &smallDisk{left: 1 << 40, syncs: 1 << 40, err: why}
	limit(d, n)
	s, err := Open(dir, Options{fs: d, FoldAbove: 900})
	if err != nil {
		t.Fatal(err)
	}
	acked, digest, err := runUntilItFails(t, s)
	if !d.failed {
		if err != nil {
			t.Fatalf("%d: %v", n, err)
		}
		return false
	}
	var w *store.WriteError
	if err != nil && (!errors.As(err, &w) || w.Way == "" || w.Path == "" || !errors.Is(err, why)) {
		t.Errorf("%d: an error that does not help: %v", n, err)
	}
	again := open(t, dir)
	st, err := again.Read(ctx)
	if err != nil || st.Seq != acked || st.Digest() != digest {
		t.Fatalf("%d: event %d was acknowledged; read: %+v, %v", n, acked, st, err)
	}
	m, err := again.Acquire(ctx, "apply", 0)
	if err != nil {
		t.Fatalf("%d: with room again: %v", n, err)
	}
	if err := errors.Join(m.Append(state.Forgot{Address: "x"}), m.Close(ctx)); err != nil {
		t.Fatalf("%d: with room again: %v", n, err)
	}
	if left := leftovers(t, dir); left != "" {
		t.Fatalf("%d: files are left behind: %s", n, left)
	}
	return true
}

// leftovers are files that no store is made of.
func leftovers(t *testing.T, dir string) (names string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		switch e.Name() {
		case "muster.state.json", "muster.state.json.backup", "muster.state.history", "muster.state.history.1":
		default:
			if !strings.HasPrefix(e.Name(), "muster.state.journal.") {
				names += " " + e.Name()
			}
		}
	}
	return names
}

func TestDirectoryThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	s, err := Open("/campaign", Options{fs: memory{}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Acquire(ctx, "apply", 0)
	var w *store.WriteError
	if !errors.As(err, &w) || !strings.Contains(w.Way, "writable") {
		t.Fatalf("%v", err)
	}
}
