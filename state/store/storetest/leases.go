package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/muster-run/muster/state/store"
)

func locked(t *testing.T, open func() store.Store) {
	n := acquire(t, open())
	record(t, n, began())
	_, err := open().Acquire(ctx, "another", 0)
	var l *store.LockedError
	if !errors.As(err, &l) {
		t.Fatalf("a second holder gets %v", err)
	}
	if l.Lease.Purpose != "test" || l.Lease.ID == "" || l.Lease.Fence != n.Fence() || l.Lease.ID != n.Holder() || l.Lease.PID == 0 || l.Where == "" || l.Alive != "alive" {
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
	if h, err := open().Holder(ctx); err != nil || h == nil || h.Lease.ID != l.Lease.ID || h.Gone() {
		t.Fatalf("the holder: %+v, %v", h, err)
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
	if h, err := open().Holder(ctx); err != nil || h != nil {
		t.Errorf("the holder of a lease that is free: %+v, %v", h, err)
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
