// Package storetest is the conformance suite that every store passes.
package storetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

// Run tests a store. New makes a home that was never used; the returned function opens that
// home, as another process would, each time it is called.
func Run(t *testing.T, new func(t testing.TB) func() store.Store) {
	for _, c := range []struct {
		name string
		test func(*testing.T, func() store.Store)
	}{
		{"never applied", neverApplied},
		{"what is synced is read", syncedIsRead},
		{"nothing appended", nothingAppended},
		{"an event that cannot be written", unwritable},
		{"locked", locked},
		{"waits for the lease", waits},
		{"fences grow", fencesGrow},
		{"force-unlock fences the holder out", forceUnlock},
		{"reading while writing", readWhileWriting},
		{"many want the lease", contended},
		{"push and pull", pushPull},
		{"history", history},
		{"random events", randomEvents},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, new(t))
		})
	}
}

var ctx = context.Background()

func acquire(t testing.TB, s store.Store) store.Session {
	t.Helper()
	n, err := s.Acquire(ctx, "test", 0)
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	return n
}

// record appends and syncs.
func record(t testing.TB, n store.Session, events ...state.Event) {
	t.Helper()
	if err := n.Append(events...); err != nil {
		t.Fatalf("append: %v", err)
	}
	if err := n.Sync(ctx); err != nil {
		t.Fatalf("sync: %v", err)
	}
}

func finish(t testing.TB, n store.Session) {
	t.Helper()
	if err := n.Close(ctx); err != nil {
		t.Fatalf("close: %v", err)
	}
}

func read(t testing.TB, s store.Store) *state.State {
	t.Helper()
	st, err := s.Read(ctx)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return st
}

// same fails unless the store holds the state want.
func same(t testing.TB, s store.Store, want *state.State) {
	t.Helper()
	if got := read(t, s); got.Digest() != want.Digest() || got.Seq != want.Seq {
		a, _ := s.Pull(ctx)
		t.Fatalf("the store holds event %d, not %d, or other things:\n%s", got.Seq, want.Seq, a)
	}
}

func began() state.Event { return state.Began{Lineage: "5e1f", Campaign: "c", At: epoch} }

func intended(i int) state.Event {
	return state.Intended{Job: state.Job{Address: fmt.Sprintf(`phase.p["i=%d"]`, i), Phase: "p"}, Attempt: state.Attempt{N: 1, Token: fmt.Sprint("t", i), Backend: "local"}, At: epoch}
}
