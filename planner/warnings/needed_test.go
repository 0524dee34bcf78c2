package warnings

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/state"
)

// TestNeededBackends: a job ran there, or a file or a machine is there.
func TestNeededBackends(t *testing.T) {
	st := &state.State{
		Jobs: map[string]*state.Job{"phase.a": {
			Attempts: []state.Attempt{{Backend: "slurm.first"}, {Backend: "slurm.last"}},
			Outputs:  []state.Output{{Backend: "ssh.made", Copies: []state.Copy{{Backend: "ssh.lab/h"}}}},
		}},
		Rentals: map[string]state.Rental{"1": {Backend: "vastai.x", Status: "idle"}, "2": {Backend: "vastai.gone", Status: "released"}},
	}
	got := slices.Sorted(maps.Keys(NeededBackends(st, []observed.Orphan{{Backend: "runpod.y"}})))
	if text := strings.Join(got, " "); text != "runpod.y slurm.first slurm.last ssh.lab ssh.made vastai.x" {
		t.Error(text)
	}
}
