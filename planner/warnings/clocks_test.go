package warnings

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestClocksOfEarlierOutputs: a purge counts from when files were last used, so
// that what earlier jobs left may be due within a short plan.
func TestClocksOfEarlierOutputs(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	now := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	pools := []offer.Pool{{Backend: "slurm.x", Name: "gpu", Clocks: []offer.Clock{{What: "scratch is purged", After: 90 * day}}}}
	ago := func(d time.Duration) state.Output {
		return state.Output{Backend: "slurm.x", Path: "o", MTime: now.Add(-d).UnixNano()}
	}
	elsewhere, gone, copied, unknown := ago(80*day), ago(80*day), ago(80*day), ago(80*day)
	elsewhere.Backend, gone.Missing, copied.Copies, unknown.MTime = "ssh.y", true, []state.Copy{{Backend: "local.local"}}, 0
	for name, c := range map[string]struct {
		outputs []state.Output
		takes   time.Duration
		want    string // "" = nothing is said
	}{
		"due within the plan":       {[]state.Output{ago(80 * day)}, 20 * day, "backend.slurm.x: scratch is purged after 90d without use, and 1 output of an earlier job is on this backend alone that may be gone before the p90 end of this plan, the first on 2026-10-11;"},
		"those that are due":        {[]state.Output{ago(80 * day), ago(85 * day), ago(60 * day)}, 20 * day, "2 outputs of earlier jobs are on this backend alone that may be gone before the p90 end of this plan, the first on 2026-10-06;"},
		"due at the end":            {[]state.Output{ago(80 * day)}, 10 * day, "the first on 2026-10-11;"},
		"due after it":              {[]state.Output{ago(80 * day)}, 10*day - time.Second, ""},
		"on another backend":        {[]state.Output{elsewhere}, 20 * day, ""},
		"gone already":              {[]state.Output{gone}, 20 * day, ""},
		"with a copy":               {[]state.Output{copied}, 20 * day, ""},
		"written nobody knows when": {[]state.Output{unknown}, 20 * day, ""},
	} {
		got := strings.Join(Clocks(pools, [][2]string{{"slurm.x", "gpu"}}, now, c.takes, map[string]*state.Job{"a": {Outputs: c.outputs}}), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := Clocks(pools, [][2]string{{"slurm.x", "gpu"}}, now, 20*day, map[string]*state.Job{"a": {Smoke: true, Outputs: []state.Output{ago(80 * day)}}}); len(got) != 0 {
		t.Errorf("of a smoke: %q", got)
	}
}
