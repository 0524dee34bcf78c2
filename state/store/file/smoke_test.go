package file

import (
	"context"
	"testing"
	"time"

	"github.com/muster-run/muster/state"
)

func TestSessionRoundTrip(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, err := Open(t.TempDir(), Options{Muster: "0.1.0"})
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.Read(ctx)
	if err != nil || st.Version != 1 || st.Lineage != "" {
		t.Fatalf("never applied: %+v, %v", st, err)
	}
	for round := range 3 {
		n, err := s.Acquire(ctx, "apply", 0)
		if err != nil {
			t.Fatal(err)
		}
		err = n.Append(state.Began{Lineage: "l", Campaign: "c", At: time.Now()},
			state.Intended{Job: state.Job{Address: "phase.a", Phase: "a"}, Attempt: state.Attempt{N: 1 + round, Token: "t" + string(rune('0'+round))}, At: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Sync(ctx); err != nil {
			t.Fatal(err)
		}
		mid, err := s.Read(ctx)
		if err != nil || mid.Digest() != n.State().Digest() {
			t.Fatalf("read while held: %v", err)
		}
		want := n.State().Digest()
		if err := n.Close(ctx); err != nil {
			t.Fatal(err)
		}
		after, err := s.Read(ctx)
		if err != nil || after.Digest() != want {
			t.Fatalf("read after close: %v", err)
		}
	}
}
