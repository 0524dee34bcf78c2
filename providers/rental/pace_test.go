package rental_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
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

// TestQuestion asks again what got no answer, and nothing else.
func TestQuestion(t *testing.T) {
	t.Parallel()
	down := providers.Errorf(providers.Unreachable, "bad gateway")
	refused := providers.Errorf(providers.Auth, "no key")
	for _, c := range []struct {
		err    error
		times  int // the first calls fail
		takes  time.Duration
		asked  int
		slept  time.Duration
		failed bool
	}{
		{nil, 0, 0, 1, 0, false},
		{rental.ErrLater, 2, 0, 3, 0, false},
		{rental.ErrLater, 5, 0, 3, 0, true},
		{down, 1, 0, 2, time.Second, false},
		{down, 2, 0, 3, 4 * time.Second, false},
		{down, 5, 0, 3, 4 * time.Second, true},
		{down, 1, time.Minute, 1, 0, true},
		{refused, 1, 0, 1, 0, true},
	} {
		now, slept, n := time.Time{}, time.Duration(0), 0
		api := rental.NewAPI(rental.Access{Now: func() time.Time { return now }, Sleep: func(_ context.Context, d time.Duration) error { slept += d; return nil }})
		err := api.Question(t.Context(), func() error {
			now = now.Add(c.takes)
			if n++; n <= c.times {
				return fmt.Errorf("the list: %w", c.err)
			}
			return nil
		})
		if n != c.asked || slept != c.slept || (err != nil) != c.failed {
			t.Errorf("%v, %d times: asked %d times, slept %v: %v", c.err, c.times, n, slept, err)
		}
	}
}
