package jobspec

import (
	"testing"
	"time"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

func TestLaunchToken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		after, n int
		want     string
	}{{0, 3, "t"}, {-1, 2, "t"}, {2, 5, "t/5"}} {
		if got := LaunchToken("t", c.after, c.n); got != c.want {
			t.Errorf("launch %d, %d after the first: %s", c.n, c.after, got)
		}
	}
}

func TestAsideOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rec  *state.Job
		want string
	}{
		"never launched":         {nil, ""},
		"failed without outputs": {&state.Job{Status: state.Failed, Attempts: []state.Attempt{{Token: "old"}}}, ""},
		"completed":              {&state.Job{Status: state.Completed, Attempts: []state.Attempt{{Token: "old/2"}}}, ".muster/replaced/old.2"},
		"the same intent again":  {&state.Job{Status: state.Completed, Attempts: []state.Attempt{{Token: "new/2", Replaces: "kept"}}}, "kept"},
	} {
		if got := AsideOf(c.rec, "new"); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestUsageIsKept: all that a launch used is on its record, what its backend says
// that it charged in that one's own words.
func TestUsageIsKept(t *testing.T) {
	t.Parallel()
	most := int64(7)
	o := offer.Observation{Usage: &offer.Usage{Elapsed: 3 * time.Second, CPU: -1, MaxRSS: 5, GPUSeconds: 6, GPUMaxMem: &most, Billed: "391 billing-seconds"}}
	want := state.Usage{Elapsed: 3, CPU: -1, MaxRSS: 5, GPUSeconds: 6, GPUMaxMem: 7, Billed: "391 billing-seconds"}
	if got := Attempt("slurm.lab", "t", &o, 1).Usage; got == nil || *got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
