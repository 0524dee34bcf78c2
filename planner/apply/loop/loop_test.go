package loop_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/planner/apply/loop"
)

func TestTakeRunsWhatWasPostedInOrder(t *testing.T) {
	t.Parallel()
	l := loop.New(context.Background(), clock.Wall)
	defer l.Close()
	var got []int
	for i := range 100 {
		l.Post(func() { got = append(got, i) })
	}
	if l.Take(nil, nil, nil) {
		t.Error("a timer that is not there went off")
	}
	if len(got) != 100 || !slices.IsSorted(got) {
		t.Errorf("ran %v", got)
	}
}

func TestTakeRunsNothingOnceItsOwnerIsToLeave(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	close(closed)
	for name, c := range map[string]struct{ leave, lost chan struct{} }{"leave": {leave: closed}, "lost": {lost: closed}} {
		l := loop.New(context.Background(), clock.Wall)
		ran := false
		l.Post(func() { ran = true })
		if l.Take(nil, c.leave, c.lost) || ran {
			t.Errorf("%s: ran %t", name, ran)
		}
		l.Close()
	}
}

func TestTakeStopsWhereItIsToldToLeave(t *testing.T) {
	t.Parallel()
	l := loop.New(context.Background(), clock.Wall)
	defer l.Close()
	leave, ran := make(chan struct{}), 0
	for range 3 {
		l.Post(func() {
			if ran++; ran == 2 {
				close(leave)
			}
		})
	}
	if l.Take(nil, leave, nil); ran != 2 {
		t.Errorf("%d ran, want 2", ran)
	}
}

func TestLaterAndTimerOnATimeOfTheirOwn(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	v := clock.NewVirtual(start)
	v.Run(func() {
		l := loop.New(context.Background(), v)
		defer l.Close()
		var at time.Duration
		l.Later(time.Hour, func() { at = v.Now().Sub(start) })
		early, _ := v.Timer(time.Minute)
		if !l.Take(early, nil, nil) || at != 0 {
			t.Errorf("the minute did not come first: %s", at)
		}
		if l.Take(nil, nil, nil) || at != time.Hour {
			t.Errorf("posted after %s, want 1h", at)
		}
	})
}

func TestCloseWaitsForGoroutinesThatPost(t *testing.T) {
	t.Parallel()
	l := loop.New(context.Background(), clock.Wall)
	done := make(chan struct{})
	l.Spawn(func() {
		defer close(done)
		for { // more than the inbox holds
			select {
			case <-l.Done():
				return
			default:
				l.Post(func() { t.Error("ran after the end") })
			}
		}
	})
	l.Later(time.Hour, func() { t.Error("ran after the end") })
	l.Close()
	if !clock.Closed(done) || l.Context().Err() == nil {
		t.Error("closed while a goroutine runs")
	}
}
