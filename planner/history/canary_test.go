package history

import (
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// TestRuntimeFromACanary: what its smoke and its canary both take to start counts once in
// a run, and the rest by its length.
func TestRuntimeFromACanary(t *testing.T) {
	t.Parallel()
	c, diags := lang.LoadFiles(map[string][]byte{"x.muster.hcl": []byte(`
phase "a" {
  params = { steps = 1000 }
  job { command = "train ${param.steps}" }
  smoke {
    params = { steps = 10 }
    canary { params = { steps = 40 } }
  }
}`)}, lang.LoadOptions{Dir: t.TempDir()})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	p := c.Phases[0]
	passed := func(smoke, canary float64) map[string]state.Validation {
		return map[string]state.Validation{"x": {Passed: true, Address: "phase.a", At: began, Elapsed: smoke, Canary: &state.SmokeRun{Elapsed: canary}}}
	}
	for name, c := range map[string]struct {
		verdicts map[string]state.Validation
		want     time.Duration
	}{
		"a minute to start, a second a step": {passed(70, 100), 1060 * time.Second},
		"nothing to start":                   {passed(10, 40), 1000 * time.Second},
		"a canary no longer than its smoke":  {passed(70, 70), 7000 * time.Second},
		"of other lengths then": {map[string]state.Validation{"x": {Passed: true, Address: "phase.a", Elapsed: 65, Params: map[string]string{"steps": "5"},
			Canary: &state.SmokeRun{Elapsed: 80, Params: map[string]string{"steps": "20"}}}}, 1060 * time.Second},
		"no canary": {map[string]state.Validation{"x": {Passed: true, Address: "phase.a", Elapsed: 70}}, 7000 * time.Second},
	} {
		ev := PastOf(p, make([]*state.Job, 1), nil).Measurements(c.verdicts)
		if got := ev.Runtime(24 * time.Hour).Expected.Round(time.Second); got != c.want {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
}
