package history

import (
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/state"
)

// TestRuntimeFromASmoke: a smoke's time counts with the params that the smoke had, whatever
// the campaign says today, and the last one of a job counts.
func TestRuntimeFromASmoke(t *testing.T) {
	t.Parallel()
	c, diags := lang.LoadFiles(map[string][]byte{"x.muster.hcl": []byte(`
phase "a" {
  params = { steps = 1000, width = 64 }
  job { command = "train ${param.steps} ${param.width}" }
  smoke { params = { steps = 10 } }
}`)}, lang.LoadOptions{Dir: t.TempDir()})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	p := c.Phases[0]
	passed := func(elapsed float64, steps string, day int) state.Validation {
		v := state.Validation{Passed: true, Address: "phase.a", At: began.AddDate(0, 0, day), Elapsed: elapsed}
		if steps != "" {
			v.Params = map[string]string{"steps": steps}
		}
		return v
	}
	for name, c := range map[string]struct {
		verdicts   []state.Validation
		run, smoke time.Duration // 0 = nothing is known
	}{
		"as today":                    {[]state.Validation{passed(7, "10", 0)}, 700 * time.Second, 7 * time.Second},
		"recorded without its params": {[]state.Validation{passed(7, "", 0)}, 700 * time.Second, 7 * time.Second},
		"ten times as long":           {[]state.Validation{passed(70, "100", 0)}, 700 * time.Second, 0},
		"the last":                    {[]state.Validation{passed(9, "10", 0), passed(7, "10", 1)}, 700 * time.Second, 7 * time.Second},
		"the last, which is shorter":  {[]state.Validation{passed(9, "100", 0), passed(7, "10", 1)}, 700 * time.Second, 7 * time.Second},
		"of another param":            {[]state.Validation{{Passed: true, Address: "phase.a", Elapsed: 7, Params: map[string]string{"width": "32"}}}, 14 * time.Second, 0},
	} {
		verdicts := map[string]state.Validation{}
		for k, v := range c.verdicts {
			verdicts[string(rune('a'+k))] = v
		}
		ev := PastOf(p, make([]*state.Job, 1), nil).Measurements(verdicts)
		if got := ev.Runtime(24 * time.Hour).Expected.Round(time.Second); got != c.run {
			t.Errorf("%s: a run takes %v, not %v", name, got, c.run)
		}
		smoke := Smoke(p, verdicts, time.Hour)
		if known := smoke.Basis != forecast.NoHistory; known != (c.smoke > 0) || known && len(c.verdicts) == 1 && smoke.Expected != c.smoke {
			t.Errorf("%s: a smoke takes %v (%v), not %v", name, smoke.Expected, smoke.Basis, c.smoke)
		}
	}
}
