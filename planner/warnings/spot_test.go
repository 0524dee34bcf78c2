package warnings

import (
	"slices"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// TestSpot: a plan names each phase without a checkpoint whose jobs start on machines that may
// be taken away, and where those are. What a pool is called says nothing.
//
// Requirement: SPT-05
func TestSpot(t *testing.T) {
	t.Parallel()
	pools := []offer.Pool{{Backend: "vastai.cloud", Name: "1x A10", Spot: true}, {Backend: "sim.s", Spot: true}, {Backend: "sim.t", Name: "spot"}}
	work := func(ck *lang.Checkpoint, starting int, backend, pool string) Work {
		return Work{Phase: &lang.Phase{Name: "p", Checkpoint: ck}, Placements: []place.Decision{{}, {Backend: backend, Pool: pool}}, Starting: map[int]int{1: starting}}
	}
	const also = " may be taken away while a job runs: it begins again from the start. Write a checkpoint block in the phase, or choose machines that stay."
	for name, c := range map[string]struct {
		work Work
		want []string
	}{
		"spot":             {work(nil, 1, "vastai.cloud", "1x A10"), []string{"phase.p has no checkpoint, and machines of backend.vastai.cloud 1x A10" + also}},
		"no name":          {work(nil, 3, "sim.s", ""), []string{"phase.p has no checkpoint, and machines of backend.sim.s" + also}},
		"checkpoint":       {work(&lang.Checkpoint{}, 1, "vastai.cloud", "1x A10"), nil},
		"named so":         {work(nil, 1, "sim.t", "spot"), nil},
		"another pool":     {work(nil, 1, "vastai.cloud", "1x A100"), nil},
		"nothing starts":   {work(nil, 0, "vastai.cloud", "1x A10"), nil},
		"nowhere to start": {Work{Phase: &lang.Phase{Name: "p"}, Starting: map[int]int{0: 2}}, nil},
	} {
		if got := Spot([]Work{c.work}, pools); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
