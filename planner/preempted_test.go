package planner

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestPreemptedOften: jobs that were preempted again and again where they go are
// proposed another queue that takes them.
func TestPreemptedOften(t *testing.T) {
	// Requirement: SPT-14
	t.Parallel()
	for times, others := range map[int]bool{2: true, 3: true, 4: false} {
		c := load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2}, lr: "1", wall: "1h"})
		in := input(c, applied(t, c, state.Failed))
		delete(in.State.Jobs, c.Phases[0].Address(1)) // it starts
		at := planned(t, in).Phases[0].Decision(1)
		if at.Backend == "" {
			t.Fatal("nothing starts")
		}
		pool := &in.Pools[0]
		other := *pool
		other.Name, other.Word = "capacity", "queue"
		spare, tests := other, other
		spare.Name, spare.Spot, tests.Name, tests.Testing = "spare", true, "debug", true
		in.Pools = append(in.Pools, spare, tests)
		if others {
			in.Pools = append(in.Pools, other)
		}
		in.Quotes = nil
		for _, p := range in.Pools {
			in.Quotes = append(in.Quotes, place.Quoted{Shape: at.Shape, Quote: offer.Quote{Backend: p.Backend, Pool: p.Name, Fits: true, Price: p.Price, Wait: p.Wait}})
		}
		job := in.State.Jobs[c.Phases[0].Address(0)]
		job.Attempts = nil
		for n := range times {
			job.Attempts = append(job.Attempts, state.Attempt{N: n + 1, Token: "t", Backend: at.Backend, Pool: at.Pool, Class: failure.Preempted})
		}
		notes := strings.Join(planned(t, in).Notes, "\n")
		want := ""
		if times >= oftenPreempted {
			if want = "and no other pool there takes them"; others {
				want = `they also fit on capacity: write options "` + strings.Split(at.Backend, ".")[0] + `" { queue = "capacity" } in the job`
			}
		}
		if strings.Contains(notes, "were preempted") != (want != "") || !strings.Contains(notes, want) {
			t.Errorf("%d times: %q", times, notes)
		}
	}
}
