package connection

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A slow backend signs in as long as ssh lets it before it says why not.
type slow struct{ providers.Provider }

const slowly = 40 * time.Second

func (slow) Schema(context.Context) (offer.Schema, error)       { return offer.Schema{}, nil }
func (slow) Configure(context.Context, providers.Backend) error { return nil }
func (slow) Pools(ctx context.Context, _ string) ([]offer.Pool, error) {
	select {
	case <-time.After(slowly):
		return []offer.Pool{{Name: "p"}}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestASlowBackendIsMet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, err := Probe(t.Context(), func(string) (providers.Provider, error) { return slow{}, nil }, providers.Backend{})
		if err != nil || len(a.Pools) != 1 {
			t.Errorf("pools %v, %v", a.Pools, err)
		}
	})
}
