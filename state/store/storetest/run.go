// Package storetest is what every store must do, as tests. A store passes it
// before anything else is asked of it.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

// Run tests a store. New makes a home that was never used; what it returns
// opens that home, as another process would, each time it is called.
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

// same fails unless the store holds what want says.
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

func locked(t *testing.T, open func() store.Store) {
	n := acquire(t, open())
	record(t, n, began())
	_, err := open().Acquire(ctx, "another", 0)
	var l *store.LockedError
	if !errors.As(err, &l) {
		t.Fatalf("a second holder gets %v", err)
	}
	if l.Lease.Purpose != "test" || l.Lease.ID == "" || l.Lease.Fence != n.Fence() || l.Lease.PID == 0 || l.Where == "" || l.Alive != "alive" {
		t.Errorf("%+v", l)
	}
	if l.Lease.Acked != 1 {
		t.Errorf("the lease says that %d events were acknowledged, not 1", l.Lease.Acked)
	}
	finish(t, n)
	finish(t, acquire(t, open()))
}

func waits(t *testing.T, open func() store.Store) {
	n := acquire(t, open())
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := open().Acquire(short, "impatient", time.Hour); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a wait that is called off gives %v", err)
	}
	got := make(chan error, 1)
	go func() {
		m, err := open().Acquire(ctx, "patient", time.Minute)
		if err == nil {
			err = m.Close(ctx)
		}
		got <- err
	}()
	time.Sleep(20 * time.Millisecond)
	finish(t, n)
	if err := <-got; err != nil {
		t.Fatal(err)
	}
}

func fencesGrow(t *testing.T, open func() store.Store) {
	var last uint64
	for i := range 6 {
		n := acquire(t, open())
		if n.Fence() <= last {
			t.Fatalf("fence %d comes after %d", n.Fence(), last)
		}
		last = n.Fence()
		if i%2 == 0 {
			record(t, n, intended(i))
		}
		finish(t, n)
	}
}

func forceUnlock(t *testing.T, open func() store.Store) {
	old := acquire(t, open())
	record(t, old, began(), intended(0))
	_, err := open().Acquire(ctx, "another", 0)
	var l *store.LockedError
	if !errors.As(err, &l) {
		t.Fatal(err)
	}
	if open().ForceUnlock(ctx, "no such id") == nil {
		t.Fatal("any id unlocks")
	}
	if err := old.Append(intended(1)); err != nil { // not synced: never acknowledged
		t.Fatal(err)
	}
	if err := open().ForceUnlock(ctx, l.Lease.ID); err != nil {
		t.Fatal(err)
	}
	if open().ForceUnlock(ctx, l.Lease.ID) == nil {
		t.Error("a lease that is not held is unlocked again")
	}
	n := acquire(t, open())
	if len(n.State().Jobs) != 1 {
		t.Fatalf("%d jobs are taken over", len(n.State().Jobs))
	}
	record(t, n, intended(2))
	if err := old.Sync(ctx); !errors.Is(err, store.ErrLost) {
		t.Fatalf("the old holder syncs: %v", err)
	}
	select {
	case <-old.Lost():
	default:
		t.Error("Lost is not closed")
	}
	if err := old.Append(intended(3)); !errors.Is(err, store.ErrLost) {
		t.Errorf("the old holder appends: %v", err)
	}
	if err := old.Close(ctx); !errors.Is(err, store.ErrLost) {
		t.Errorf("the old holder closes: %v", err)
	}
	same(t, open(), n.State())
	record(t, n, intended(4))
	want := n.State()
	finish(t, n)
	same(t, open(), want)
	if len(want.Jobs) != 3 {
		t.Errorf("%d jobs", len(want.Jobs))
	}
	if open().ForceUnlock(ctx, l.Lease.ID) == nil {
		t.Error("nothing is unlocked")
	}
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

func contended(t *testing.T, open func() store.Store) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	fences := map[uint64]bool{}
	for i := range 6 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for round := range 3 {
				n := persistent(t, open())
				if n == nil {
					return
				}
				mu.Lock()
				if fences[n.Fence()] {
					t.Errorf("fence %d was given twice", n.Fence())
				}
				fences[n.Fence()] = true
				mu.Unlock()
				record(t, n, intended(10*i+round))
				finish(t, n)
			}
		}()
	}
	wg.Wait()
	if got := read(t, open()); len(got.Jobs) != 18 {
		t.Errorf("%d jobs of 18", len(got.Jobs))
	}
}

// persistent asks for the lease until it gets it.
func persistent(t testing.TB, s store.Store) store.Session {
	for range 4000 {
		n, err := s.Acquire(ctx, "test", 0)
		var l *store.LockedError
		switch {
		case err == nil:
			return n
		case !errors.As(err, &l):
			t.Errorf("acquire: %v", err)
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Error("the lease never came free")
	return nil
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
