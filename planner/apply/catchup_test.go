package apply

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A renter has no machine, and starts nothing, until it is asked to catch up.
type renter struct {
	*fake
	t    *testing.T
	asks *atomic.Int32 // to catch up
}

func (r *renter) Submit(ctx context.Context, req providers.SubmitRequest) ([]providers.Submitted, error) {
	out, err := r.fake.Submit(ctx, req)
	if err == nil && len(req.Jobs) == 0 {
		r.asks.Add(1)
		r.mu.Lock()
		r.slots = 1
		r.mu.Unlock()
		r.settle(r.t)
		r.mu.Lock()
		r.slots = 0
		r.mu.Unlock()
	}
	return out, err
}

// TestRunsThatLeaveCatchUp: -detach and -once leave a backend that rents machines when its
// jobs are on machines and what ended there is known; jobs that became ready by that are
// submitted, too.
func TestRunsThatLeaveCatchUp(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]Mode{"detach": Detach, "once": Once} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, rentedPhase+`
phase "b" {
  place { candidates = [backend.far.x] }
  job {
    command = "cat ${input.i} > ${output.o}"
    resources { walltime = "1h" }
    input "i" { from = phase.a.output.o }
    output "o" { path = "b.txt" }
  }
}`)
			s.world.can = offer.Capabilities{Rents: true, Holds: true, Events: true}
			s.world.slots = 0
			var asks atomic.Int32
			leave := func(m Mode) func(*Config) {
				return func(c *Config) {
					c.Mode = m
					c.Provider = func(string) (providers.Provider, error) { return &renter{&fake{world: s.world}, t, &asks}, nil }
				}
			}
			if mode == Once {
				s.conf = func(c *Config) { c.Mode = Detach }
				s.world.can.Rents = false // approved, and left before anything began
				s.must(t.Context())
				s.world.can.Rents = true
			}
			s.conf = leave(mode)
			if o := s.must(t.Context()); o.Done != 2 {
				t.Fatalf("%+v", o)
			}

			// An idle machine is no work beyond what was approved. Its backend releases it when
			// its hold is over.
			asks.Store(0)
			s.rents("r1", "idle")
			s.conf = leave(Once)
			if o := s.must(t.Context()); o.Stopped != progress.None || o.Done != 2 {
				t.Errorf("with an idle machine: %+v", o)
			}
			if asks.Load() != 1 {
				t.Errorf("%d times", asks.Load())
			}
			if r := s.state().Rentals["r1"]; r.Status != state.RentalStatus("idle") {
				t.Errorf("-once gave a machine back: %+v", r)
			}
		})
	}
}
