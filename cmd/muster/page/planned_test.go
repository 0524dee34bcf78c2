package page

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// TestPlannedAndActual: a plan that came to its end counts whole, one that another took
// the place of by the jobs that ended under it, and what has no forecast is in no row.
func TestPlannedAndActual(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	forecast := func(phase string, jobs int, usd, most string, median float64) *state.Forecast {
		e := map[string]state.Estimate{"usd": {Expected: usd, P90: most, AtMost: most}}
		return &state.Forecast{Amounts: e, Phases: map[string]state.PhaseForecast{phase: {Jobs: jobs, Amounts: e}}, Median: median, P90: 2 * median}
	}
	entry := func(address, phase string, attempt int, plan, usd string) state.Entry {
		return state.Entry{Address: address, Phase: phase, Attempt: attempt, Plan: plan, Backend: "sim.s", Spent: state.TextsOf(state.Amounts{"usd": usd})}
	}
	ended := func(at time.Duration) *state.Job {
		return &state.Job{Status: state.Completed, Attempts: []state.Attempt{{N: 1, Ended: begun.Add(at)}}}
	}
	st := &state.State{
		Approvals: []state.Approval{
			{Plan: "old", Begun: begun.Add(-time.Hour), Outcome: "done"},
			{Plan: "p1", Begun: begun, Outcome: state.Superseded, Forecast: forecast("a", 10, "10", "20", 7200)},
			{Plan: "p2", Begun: begun.Add(time.Hour), Outcome: "done", Forecast: forecast("a", 6, "6", "12", 3600)},
			{Plan: "p3", Begun: begun.Add(4 * time.Hour), Forecast: forecast("b", 4, "8", "8", 3600)},
		},
		Ledger: []state.Entry{
			entry("phase.z", "z", 1, "old", "99"),
			entry("phase.a1", "a", 1, "p1", "1"), entry("phase.a2", "a", 1, "p1", "1"), entry("phase.a3", "a", 1, "p1", "1"), entry("phase.a4", "a", 1, "p1", "1"),
			entry("phase.a5", "a", 1, "p1", "1"), entry("phase.a5", "a", 2, "p2", "2"), // retried under the second plan
			entry("phase.a6", "a", 1, "p2", "9"),
			entry("phase.b1", "b", 1, "p3", "1"), entry("phase.a1", "a", 0, "p3", "0.5"),
		},
		Jobs: map[string]*state.Job{"phase.a6": ended(3 * time.Hour), "phase.b1": ended(5 * time.Hour)},
	}
	r := CostOf(&lang.Campaign{Name: "c"}, st, begun)
	p := r.Planned
	if p == nil || p.Approvals != 3 || p.Jobs != 14 || p.Billed != 11 || p.Without != 1 {
		t.Fatalf("%+v", p)
	}
	want := map[string]plannedRow{
		"":  {"usd", "", "12", "22", "22", "17.5", "1.46"}, // 4 of 10, all of 6, 1 of 4 at 2
		"a": {"usd", "a", "10", "20", "20", "16.5", "1.65"},
		"b": {"usd", "b", "2", "2", "2", "1", "0.50"},
	}
	for _, row := range p.Rows {
		if row != want[row.Phase] {
			t.Errorf("%+v, not %+v", row, want[row.Phase])
		}
	}
	if w := p.Walltime; w == nil || *w != (plannedLength{3600, 7200, 7200, "2.00"}) {
		t.Errorf("%+v", w)
	}
	for _, line := range []string{"planned and actual, for 11 of 14 planned jobs", "1.46×", "1 attempt not compared", "walltime        1h"} {
		if !strings.Contains(r.Text(100, 0), line) {
			t.Errorf("%q is not in\n%s", line, r.Text(100, 0))
		}
	}
	st.Approvals = st.Approvals[:1]
	if r := CostOf(&lang.Campaign{Name: "c"}, st, begun); r.Planned != nil || strings.Contains(r.Text(100, 0), "planned") {
		t.Errorf("without a forecast: %+v", r.Planned)
	}
}
