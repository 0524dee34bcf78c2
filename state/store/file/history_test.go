package file

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

// A history has a bound: the oldest events go, the others have no gaps, and the backup can
// still catch up.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	const limit = 2000
	dir := t.TempDir()
	s, err := Open(dir, Options{history: limit})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		n, err := s.Acquire(ctx, "apply", 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(n.Append(state.HeldJob{Address: fmt.Sprint("phase.p", i), By: "ada"}), n.Close(ctx)); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{s.history(), s.older()} {
			if info, err := os.Stat(path); err == nil && info.Size() > limit {
				t.Fatalf("%s has %d bytes", path, info.Size())
			}
		}
	}
	var first, last uint64
	err = s.History(ctx, func(r store.Record) bool {
		if first == 0 {
			first = r.Seq
		} else if r.Seq != last+1 {
			t.Errorf("event %d comes after %d", r.Seq, last)
		}
		last = r.Seq
		return true
	})
	if err != nil || first < 10 || last != 60 {
		t.Errorf("events %d to %d, %v", first, last, err)
	}
	want, err := s.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.backup(), s.path); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Read(ctx); err != nil || got.Seq != want.Seq || got.Digest() != want.Digest() {
		t.Errorf("from the backup: %v", err)
	}
}

// With force a state that cannot be read is replaced, and stays beside it.
func TestPushOverDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	y := lives(t, dir, small, always)
	s := open(t, dir)
	good, err := s.Pull(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"muster.state.json", "muster.state.journal.3"} {
		bad := append([]byte("x"), y.files[name]...)
		if err := os.WriteFile(dir+"/"+name, bad, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Push(ctx, good, false); err == nil {
		t.Fatal("damage is pushed over without force")
	}
	if err := s.Push(ctx, good, true); err != nil {
		t.Fatal(err)
	}
	st, err := s.Read(ctx)
	if err != nil || st.Digest() != y.digests[y.acked] || st.Seq <= y.acked {
		t.Fatalf("%+v, %v", st, err)
	}
	n, err := s.Acquire(ctx, "apply", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(n.Append(state.HeldJob{Address: "phase.z"}), n.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	if st, err = s.Read(ctx); err != nil || st.Jobs["phase.z"] == nil {
		t.Fatalf("%+v, %v", st, err)
	}
}
