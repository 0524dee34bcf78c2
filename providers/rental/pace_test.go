package rental_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/rental"
)

func TestPace(t *testing.T) {
	t.Parallel()
	now := start
	var slept time.Duration
	p := rental.NewPace(rental.Access{Now: func() time.Time { return now }, Sleep: func(_ context.Context, d time.Duration) error { slept = d; now = now.Add(d); return nil }})
	waits := func(want time.Duration, apart map[string]time.Duration) {
		t.Helper()
		slept = 0
		if err := p.Wait(t.Context(), apart); err != nil || slept != want {
			t.Errorf("it waits %s, not %s: %v", slept, want, err)
		}
	}
	all := map[string]time.Duration{"": time.Second}
	rare := map[string]time.Duration{"": time.Second, "rare": 10 * time.Second}
	waits(0, all)
	waits(time.Second, all)
	waits(time.Second, rare)
	waits(time.Second, all)
	waits(9*time.Second, rare)
	p.Refused("", rental.Reply{Status: 429, Header: http.Header{"Retry-After": {"7"}}}, time.Second)
	waits(7*time.Second, all)
	p.Refused("", rental.Reply{Status: 429, Header: http.Header{"Retry-After": {"soon"}}}, 3*time.Second)
	waits(3*time.Second, all)
	p.Refused("", rental.Reply{Status: 429, Header: http.Header{"Retry-After": {"86400"}}}, time.Second)
	waits(time.Minute, all)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	now = now.Add(time.Hour)
	if p.Wait(ctx, all) == nil {
		t.Error("a call that was canceled is made")
	}
}

func TestPatiently(t *testing.T) {
	t.Parallel()
	for errs, want := range map[int]int{0: 1, 2: 3, 5: 3} {
		n := 0
		err := rental.Patiently(func() error {
			if n++; n <= errs {
				return errors.Join(rental.ErrLater, errors.New("slow down"))
			}
			return nil
		})
		if n != want || (err != nil) != (errs > 2) {
			t.Errorf("%d refusals: asked %d times: %v", errs, n, err)
		}
	}
}
