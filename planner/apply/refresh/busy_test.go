package refresh

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A busy backend takes as long as schedulers do that have much to do.
type busy struct{ *asked }

func (b busy) Pools(ctx context.Context, name string) ([]offer.Pool, error) {
	if err := takes(ctx, time.Minute); err != nil {
		return nil, err
	}
	return b.asked.Pools(ctx, name)
}

func (b busy) Preflight(ctx context.Context, name string, checks []providers.Check) ([]providers.Finding, error) {
	if err := takes(ctx, 30*time.Second); err != nil {
		return nil, err
	}
	return b.asked.Preflight(ctx, name, checks)
}

func takes(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestABusyBackendIsNotAway: minutes of a busy scheduler are an answer.
func TestABusyBackendIsNotAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &asked{pools: []offer.Pool{{CPUs: 4, Memory: 1 << 33}}}
		if r := a.observeAs(t, busy{a}, phase("seed = [1]", ""), nil); len(r.Observed.Unreachable) > 0 || len(r.Pools) != 1 {
			t.Errorf("pools %v; away: %v", r.Pools, r.Observed.Unreachable)
		}
	})
}
