package storetest

import (
	"bytes"
	"math"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

func neverApplied(t *testing.T, open func() store.Store) {
	st := read(t, open())
	if st.Version != state.SchemaVersion || st.Lineage != "" || len(st.Jobs) != 0 {
		t.Fatalf("%+v", st)
	}
	if err := open().History(ctx, func(store.Record) bool { t.Error("it has a history"); return true }); err != nil {
		t.Fatal(err)
	}
}

func syncedIsRead(t *testing.T, open func() store.Store) {
	for round := range 3 {
		n := acquire(t, open())
		record(t, n, began(), intended(2*round))
		same(t, open(), n.State())
		record(t, n, intended(2*round+1))
		same(t, open(), n.State())
		want := n.State()
		finish(t, n)
		same(t, open(), want)
		if got := len(read(t, open()).Jobs); got != 2*round+2 {
			t.Fatalf("%d jobs after round %d", got, round)
		}
	}
	if st := read(t, open()); st.Serial == 0 || st.Lineage != "5e1f" || st.Campaign != "c" {
		t.Fatalf("%+v", st)
	}
}

func nothingAppended(t *testing.T, open func() store.Store) {
	n := acquire(t, open())
	record(t, n, began())
	finish(t, n)
	serial := read(t, open()).Serial
	n = acquire(t, open())
	if err := n.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	finish(t, n)
	if got := read(t, open()).Serial; got != serial {
		t.Errorf("a session that recorded nothing moved the serial from %d to %d", serial, got)
	}
	if err := n.Close(ctx); err != nil {
		t.Errorf("a second close: %v", err)
	}
	if n.Append(began()) == nil || n.Sync(ctx) == nil {
		t.Error("a closed session still appends")
	}
}

func unwritable(t *testing.T, open func() store.Store) {
	n := acquire(t, open())
	record(t, n, began(), intended(0))
	before := n.State().Digest()
	bad := state.Observed{Address: `phase.p["i=0"]`, Token: "t0", Status: state.Running, Attempt: state.Attempt{N: 1, Usage: &state.Usage{CPU: math.NaN()}}}
	if n.Append(bad) == nil {
		t.Error("NaN is accepted")
	}
	if n.State().Digest() != before {
		t.Error("the state changed")
	}
	record(t, n, intended(1))
	want := n.State()
	finish(t, n)
	same(t, open(), want)
}

func readWhileWriting(t *testing.T, open func() store.Store) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var last uint64
			for s := open(); ; {
				select {
				case <-done:
					return
				default:
				}
				st, err := s.Read(ctx)
				if err != nil {
					t.Errorf("read: %v", err)
					return
				}
				if st.Seq < last {
					t.Errorf("event %d was read, then %d", last, st.Seq)
				}
				if last = st.Seq; last > 0 && len(st.Jobs) != int(last) {
					t.Errorf("%d jobs after %d events", len(st.Jobs), last)
				}
			}
		}()
	}
	i := 0
	for range 6 {
		n := acquire(t, open())
		for range 20 {
			record(t, n, intended(i))
			i++
		}
		finish(t, n)
	}
	close(done)
	wg.Wait()
}

func pushPull(t *testing.T, open func() store.Store) {
	n := acquire(t, open())
	record(t, n, began(), intended(0))
	if err := open().Push(ctx, []byte("{}"), false); err == nil {
		t.Error("pushed while another holds the lease")
	}
	finish(t, n)
	was, err := open().Pull(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := read(t, open())
	if err := open().Push(ctx, was, false); err != nil {
		t.Fatalf("push what was pulled: %v", err)
	}
	if got := read(t, open()); got.Digest() != want.Digest() || got.Serial <= want.Serial {
		t.Fatalf("serial %d after %d", got.Serial, want.Serial)
	}
	for _, c := range []struct{ name, data string }{
		{"no JSON", "{"},
		{"no state", "{}"},
		{"older", string(was)},
		{"another lineage", string(bytes.Replace(was, []byte(`"lineage":"5e1f"`), []byte(`"lineage":"0000"`), 1))},
		{"newer version", string(bytes.Replace(was, []byte(`"version":1`), []byte(`"version":1000`), 1))},
	} {
		if err := open().Push(ctx, []byte(c.data), false); err == nil {
			t.Errorf("%s: it is taken", c.name)
		}
	}
	edited := bytes.Replace(was, []byte(`"campaign":"c"`), []byte(`"campaign": "edited by hand"`), 1)
	if err := open().Push(ctx, edited, true); err != nil {
		t.Fatal(err)
	}
	n = acquire(t, open())
	record(t, n, intended(1))
	finish(t, n)
	if got := read(t, open()); got.Campaign != "edited by hand" || len(got.Jobs) != 2 {
		t.Errorf("%+v", got)
	}
}

func history(t *testing.T, open func() store.Store) {
	for i := range 4 {
		n := acquire(t, open())
		record(t, n, intended(2*i), intended(2*i+1))
		if i < 3 {
			finish(t, n)
		} else {
			defer n.Close(ctx)
		}
	}
	var last store.Record
	count := 0
	err := open().History(ctx, func(r store.Record) bool {
		if e, ok := r.Event.(state.Intended); !ok || e.Job.Address != intended(count).(state.Intended).Job.Address {
			t.Errorf("event %d is %+v", count, r.Event)
		}
		if r.Seq <= last.Seq || r.Fence < last.Fence || r.At.IsZero() {
			t.Errorf("%+v comes after %+v", r, last)
		}
		last = r
		count++
		return true
	})
	if err != nil || count != 8 {
		t.Errorf("%d events, %v", count, err)
	}
	count = 0
	err = open().History(ctx, func(store.Record) bool { count++; return count < 3 })
	if err != nil || count != 3 {
		t.Errorf("stopped after %d events, %v", count, err)
	}
}

func randomEvents(t *testing.T, open func() store.Store) {
	rapid.Check(t, func(r *rapid.T) {
		n := acquire(t, open())
		for _, e := range Events(20).Draw(r, "events") {
			if err := n.Append(e); err != nil {
				r.Fatal(err)
			}
			if rapid.IntRange(0, 5).Draw(r, "sync") == 0 {
				if err := n.Sync(ctx); err != nil {
					r.Fatal(err)
				}
			}
		}
		if err := n.Sync(ctx); err != nil {
			r.Fatal(err)
		}
		same(t, open(), n.State())
		want := n.State()
		finish(t, n)
		same(t, open(), want)
	})
}
