package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
	"github.com/muster-run/muster/state/store/storetest"
)

var ctx = context.Background()

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{Muster: "0.1.0", Who: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A story is a campaign's history before its files came to harm.
type story struct {
	digests map[uint64]string // of the state after each event
	acked   uint64
	files   map[string][]byte
}

// mortal is a store whose sessions look dead to everybody: their process
// started at another time than ours.
func mortal(t testing.TB, dir string) *Store {
	s := open(t, dir)
	s.self.start++
	return s
}

// die ends a session as SIGKILL does: nothing is given back.
func die(n *session) {
	n.l.stop()
	<-n.l.done
	n.l.f.Close()
	n.w.Close()
}

// tell records events, syncing after those that sync says.
func (y *story) tell(t testing.TB, n *session, events []state.Event, sync func(int) bool) {
	t.Helper()
	for i, e := range events {
		if err := n.Append(e); err != nil {
			t.Fatal(err)
		}
		y.digests[n.st.Seq] = n.st.Digest()
		if sync(i) {
			if err := n.Sync(ctx); err != nil {
				t.Fatal(err)
			}
			y.acked = n.st.Seq
		}
	}
}

func (y *story) keep(t testing.TB, dir string) {
	y.files = map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if y.files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

// lives makes a directory of sessions, one for each part; all but the last
// end well. It leaves a snapshot, its backup, a history, a journal, and a
// lease.
func lives(t testing.TB, dir string, parts [][]state.Event, sync func(int) bool) *story {
	y := &story{digests: map[uint64]string{0: state.New("").Digest()}}
	for i, part := range parts {
		got, err := mortal(t, dir).Acquire(ctx, "apply", 0)
		if err != nil {
			t.Fatal(err)
		}
		n := got.(*session)
		y.tell(t, n, part, sync)
		if i == len(parts)-1 {
			die(n)
			break
		}
		if err := n.Close(ctx); err != nil {
			t.Fatal(err)
		}
		y.acked = n.st.Seq
	}
	y.keep(t, dir)
	return y
}

// judge reads the files as they are in memory, and says what is wrong with
// the answer: a state must be one that was, with all that was acknowledged; an
// error must say where and what to do.
func (y *story) judge(files map[string][]byte) error {
	s, err := Open("/campaign", Options{fs: memory{files}, patience: -1})
	if err != nil {
		return err
	}
	l, err := s.load(1<<64 - 1)
	if err == nil {
		switch digest, ok := y.digests[l.state.Seq]; {
		case l.state.Seq < y.acked:
			return fmt.Errorf("event %d of %d acknowledged: silently lost", l.state.Seq, y.acked)
		case !ok || digest != l.state.Digest():
			return fmt.Errorf("a state that never was, of event %d", l.state.Seq)
		}
		return nil
	}
	var corrupt *store.CorruptError
	var newer *store.NewerError
	switch {
	case errors.As(err, &corrupt):
		if corrupt.Path == "" || corrupt.Way == "" || corrupt.Why == "" {
			return fmt.Errorf("an error that does not help: %+v", corrupt)
		}
	case !errors.As(err, &newer):
		return fmt.Errorf("an error of another kind: %w", err)
	}
	return nil
}

// with is the files, one of them changed.
func (y *story) with(name string, data []byte) map[string][]byte {
	files := maps.Clone(y.files)
	files[name] = data
	return files
}

var small = [][]state.Event{
	{state.Began{Lineage: "5e1f", Campaign: "c"}, state.Intended{Job: state.Job{Address: "phase.a", Phase: "a"}, Attempt: state.Attempt{N: 1, Token: "aa"}}},
	{state.Submitted{Address: "phase.a", Token: "aa", Handle: "1"}},
	{
		state.Observed{Address: "phase.a", Token: "aa", Status: state.Running, Attempt: state.Attempt{N: 1, Node: "n"}},
		state.Observed{Address: "phase.a", Token: "aa", Status: state.Completed, Attempt: state.Attempt{N: 1}},
		state.HeldJob{Address: "phase.b", Reason: "r", By: "ada"},
	},
}

func always(int) bool { return true }

// Every file, cut off at every byte, and with every byte changed in several
// ways, the newlines included; and every file gone.
func TestEveryByteOfEveryFile(t *testing.T) {
	// Requirement: RES-02
	t.Parallel()
	for _, c := range []struct {
		name string
		sync func(int) bool
	}{
		{"all acknowledged", always},
		{"the last event never acknowledged", func(i int) bool { return i < 2 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			y := lives(t, t.TempDir(), small, c.sync)
			if err := y.judge(y.files); err != nil {
				t.Fatalf("unharmed: %v", err)
			}
			for _, want := range []string{".json", ".json.backup", ".history", ".lock", ".journal.3"} {
				if y.files["muster.state"+want] == nil {
					t.Fatalf("no %s among %v", want, slices.Sorted(maps.Keys(y.files)))
				}
			}
			for name, data := range y.files {
				y.harm(t, name, data)
			}
		})
	}
}

// stride is 1, so that every byte is harmed; under the race detector, whose subject is
// another, every 11th.
func stride() int {
	if testing.Short() {
		return 11
	}
	return 1
}

func (y *story) harm(t *testing.T, name string, data []byte) {
	files := maps.Clone(y.files)
	delete(files, name)
	if err := y.judge(files); err != nil {
		t.Errorf("%s gone: %v", name, err)
	}
	for i := 0; i < len(data); i += stride() {
		if err := y.judge(y.with(name, data[:i])); err != nil {
			t.Errorf("%s cut off at byte %d: %v", name, i, err)
		}
		for _, flip := range []byte{0x01, 0x20, 0x80, data[i] ^ '\n', data[i] ^ '0', 0xff} {
			if flip == 0 {
				continue
			}
			bad := slices.Clone(data)
			bad[i] ^= flip
			if err := y.judge(y.with(name, bad)); err != nil {
				t.Errorf("%s with byte %d changed from %q to %q: %v", name, i, data[i], bad[i], err)
			}
		}
	}
}

// Random campaigns, cut or changed anywhere, in the memory of a file system.
func TestRandomHarm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			r.Fatal(err)
		}
		parts := rapid.SliceOfN(storetest.Events(12), 1, 3).Draw(r, "parts")
		y := lives(t, dir, parts, func(int) bool { return rapid.Bool().Draw(r, "sync") })
		for range 20 {
			name := rapid.SampledFrom(slices.Sorted(maps.Keys(y.files))).Draw(r, "file")
			data := slices.Clone(y.files[name])
			if len(data) == 0 {
				continue
			}
			at := rapid.IntRange(0, len(data)-1).Draw(r, "at")
			if rapid.Bool().Draw(r, "cut") {
				data = data[:at]
			} else {
				data[at] ^= rapid.ByteRange(1, 255).Draw(r, "flip")
			}
			if err := y.judge(y.with(name, data)); err != nil {
				r.Fatalf("%s at %d of %d: %v", name, at, len(y.files[name]), err)
			}
		}
	})
}

// The way out of a damaged snapshot is the one that the error gives: nothing
// is lost.
func TestBackupAndHistoryBringItBack(t *testing.T) {
	t.Parallel()
	y := lives(t, t.TempDir(), small, always)
	files := y.with("muster.state.json", y.files["muster.state.json.backup"])
	s, err := Open("/campaign", Options{fs: memory{files}, patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.load(1<<64 - 1)
	if err != nil || l.state.Seq != y.acked || l.state.Digest() != y.digests[y.acked] {
		t.Fatalf("%v", err)
	}
}

// memory is a file system that is only read.
type memory struct{ files map[string][]byte }

func (m memory) find(name string) ([]byte, error) {
	if data, ok := m.files[filepath.Base(name)]; ok {
		return data, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (m memory) OpenFile(name string, _ int, _ fs.FileMode) (handle, error) {
	data, err := m.find(name)
	if err != nil {
		return nil, err
	}
	return &opened{Reader: strings.NewReader(string(data))}, nil
}

func (m memory) ReadFile(name string) ([]byte, error) {
	data, err := m.find(name)
	return slices.Clone(data), err
}

func (m memory) Stat(name string) (fs.FileInfo, error) {
	data, err := m.find(name)
	return info{int64(len(data))}, err
}

func (m memory) ReadDir(string) (entries []fs.DirEntry, err error) {
	for name := range m.files {
		entries = append(entries, entry{name: name})
	}
	return entries, nil
}

func (memory) MkdirAll(string, fs.FileMode) error { return fs.ErrPermission }
func (memory) Link(_, _ string) error             { return fs.ErrPermission }
func (memory) Rename(_, _ string) error           { return fs.ErrPermission }
func (memory) Remove(string) error                { return fs.ErrPermission }
func (memory) SyncDir(string) error               { return fs.ErrPermission }

type entry struct {
	fs.DirEntry
	name string
}

func (e entry) Name() string { return e.name }

type info struct{ size int64 }

func (i info) Size() int64            { return i.size }
func (i info) IsDir() bool            { return false }
func (i info) Mode() fs.FileMode      { return 0o600 }
func (i info) Name() string           { return "" }
func (i info) ModTime() (t time.Time) { return t }
func (i info) Sys() any               { return nil }

type opened struct{ *strings.Reader }

func (o *opened) Write([]byte) (int, error)          { return 0, io.ErrClosedPipe }
func (o *opened) WriteAt([]byte, int64) (int, error) { return 0, io.ErrClosedPipe }
func (o *opened) Close() error                       { return nil }
func (o *opened) Stat() (fs.FileInfo, error)         { return info{o.Size()}, nil }
func (o *opened) Sync() error                        { return nil }
func (o *opened) Truncate(int64) error               { return nil }
