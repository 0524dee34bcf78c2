package refresh

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
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

// A hung backend does not say what became of its jobs.
type hung struct{ *asked }

func (h hung) Find(ctx context.Context, _ string, _ []string) ([]offer.Observation, error) {
	return nil, takes(ctx, time.Hour)
}

// TestAHungQueueIsSaid: who looks at jobs in flight is told within 10 s what is
// waited for.
func TestAHungQueueIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		address := `phase.a["seed=1"]`
		st := &state.State{Version: state.SchemaVersion, Jobs: map[string]*state.Job{address: {Address: address, Phase: "a", Status: state.Running,
			Attempts: []state.Attempt{{N: 1, Token: "t", Backend: "local.local"}}}}}
		cam, diags := lang.LoadFiles(map[string][]byte{"t.muster.hcl": []byte("campaign \"t\" {}\n" + phase("seed = [1]", ""))},
			lang.LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		type notice struct {
			text  string
			after time.Duration
		}
		began := time.Now()
		var said atomic.Pointer[notice] // another goroutine says it
		r := Observe(t.Context(), Input{Campaign: cam, State: st, Refresh: true, Waiting: func(what string) { said.Store(&notice{what, time.Since(began)}) },
			Provider: func(string) (providers.Provider, error) { return hung{&asked{pools: []offer.Pool{{}}}}, nil }})
		if n := said.Load(); n == nil || n.text != "waiting for backend.local.local" || n.after > 10*time.Second || len(r.Observed.Unreachable) != 1 {
			t.Errorf("said %+v; away: %v", n, r.Observed.Unreachable)
		}
	})
}
