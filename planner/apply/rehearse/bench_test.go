package rehearse_test

import (
	"context"
	"testing"

	"github.com/muster-run/muster/planner/apply/rehearse"
)

// BenchmarkRehearse plays 10,000 jobs in two phases once: the engine, the fold
// and the simulated backend.
func BenchmarkRehearse(b *testing.B) {
	y := newYard(b, campaign("slots = 200\nwait = \"10m\"\nusd_per_hour = 1", "", phase("a", 5000, "")+phase("b", 5000, "input \"i\" { from = phase.a.output.o }")))
	c, p, in := y.plan()
	stage, err := rehearse.New(rehearse.Input{Campaign: c, State: y.state, Plan: p, Pools: in.Pools, Can: in.Can, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		if r, err := stage.Play(context.Background(), i); err != nil || r.Done == 0 {
			b.Fatalf("%+v %v", r, err)
		}
	}
}
