package page

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/advice"
	"github.com/muster-run/muster/planner/explain"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
)

// TestPhaseTableInNarrowTerminals: what a phase's jobs are doing stays in its
// column.
func TestPhaseTableInNarrowTerminals(t *testing.T) {
	phases := []PhaseStatus{
		{Phase: "prep", Jobs: 40, Counts: map[string]int{"completed": 40}},
		{Phase: "train", Jobs: 320, Counts: map[string]int{"completed": 133, "running": 2, "queued": 3, "submitting": 1, "pending": 162, "failed": 16, "held": 3}},
	}
	const want = `  phase.prep     40 of 40  done
  phase.train  133 of 320  done  2 running, 3 queued, 1 submitting, 162 pending,
                                 16 failed, 3 held
`
	if got := phaseTable(phases, 80); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, line := range strings.Split(phaseTable(phases, 60), "\n") {
		if term.Width(line) > 60 {
			t.Errorf("wider than 60 columns: %s", line)
		}
	}
}

// TestALongNameLeavesTheOthersRoom: the name of a job gives way to the columns right of it in
// all lines, and keeps both its ends.
func TestALongNameLeavesTheOthersRoom(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	long := `phase.eval["model=meta-llama-3.1-405b-instruct-turbo-fp8,task=legalbench_contract_qa,seed=3"]`
	jobs := []JobStatus{
		{Address: long, Status: "running", Backend: "slurm.alpine", Pool: "aa100", Since: now.Add(-time.Minute)},
		{Address: "phase.eval[1]", Status: "running", Backend: "slurm.alpine", Pool: "aa100", Since: now.Add(-time.Hour)},
		{Address: long, Status: blocked, Reason: "waits", alike: 12},
	}
	got := jobTable(jobs, now, 80, true)
	for _, line := range strings.Split(got, "\n") {
		if term.Width(line) > 80 || strings.HasSuffix(line, "…") {
			t.Errorf("cut, or wider than 80 columns: %s", line)
		}
	}
	for _, words := range []string{"slurm.alpine, aa100  1m ago\n", "phase.eval[1] ", "slurm.alpine, aa100  1h ago\n", `phase.eval["model=`, `seed=3"]  `, " and 12 more"} {
		if !strings.Contains(got, words) {
			t.Errorf("no %q in\n%s", words, got)
		}
	}
	if wide := jobTable(jobs, now, 200, true); !strings.Contains(wide, long+" ") {
		t.Errorf("shortened where there is room:\n%s", wide)
	}
}

// TestCSVColumnsDiffer: an axis, a metric and a column of muster's own may
// have one name.
func TestCSVColumnsDiffer(t *testing.T) {
	got := csvColumns([]string{"T", "phase", "status"}, []string{"T", "loss", "seconds"})
	for _, want := range []string{"T", "axis.phase", "axis.status", "metric.T", "loss", "metric.seconds"} {
		if !slices.Contains(got, want) {
			t.Errorf("no column %s in %v", want, got)
		}
	}
	slices.Sort(got)
	if n := len(got); n != len(slices.Compact(got)) {
		t.Errorf("a name stands twice in %v", got)
	}
}

// TestPagesInNarrowTerminals: what is said at length is folded to the screen.
func TestPagesInNarrowTerminals(t *testing.T) {
	now := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	cost := Cost{InFlight: 12, Approvals: []state.Approval{{Who: "ada", Begun: now, Ceiling: state.Amounts{"usd": "793.35", "service_units": "150000", "gpu_hours": "2280.7"}, Outcome: "held"}}}
	x := explain.Job{Address: `phase.train["lr=1e-3,seed=2,task=code"]`, Kind: planner.Blocked,
		Decision: place.Decision{Backend: "sim.x", Why: strings.Repeat("because of that ", 9), Fallback: strings.Repeat("the other one is away ", 9), Candidates: []place.Candidate{
			{Backend: "sim.alpine", Pool: "atesting", Fits: true, Won: true, Cost: map[string]string{"service_units": "216.4", "gpu_hours": "2", "cpu_hours": "16"}, Wait: time.Hour},
		}},
		Label:   "train-lr=1e-3,seed=2,task=code",
		Ceiling: state.Amounts{"usd": "10.58", "service_units": "866", "gpu_hours": "8", "cpu_hours": "64"}, Attempts: 12,
		Waits: []explain.Prerequisite{{On: "input.weights", Jobs: 240, Open: 3, Address: `phase.base["lr=1e-3,seed=2,task=code,width=512"]`, Kind: planner.HeldKind}}}
	uses := []advice.Use{{What: "gpu memory", Asked: 64 << 30}}
	pages := map[string]string{
		"cost":    cost.Text(80, 80),
		"explain": ExplanationText(x, "running on slurm.alpine as 513de27eeec68d38d9791465f72acada, node gpu0123: for 1m 17s", 80),
		"advise":  AdviceText(advice.Report{Launches: 3, Phases: []advice.History{{Phase: "finetune", GPU: true, Uses: uses, Jobs: 240, Done: 237, Launches: 248, Failed: 11}}}, 80, 80),
	}
	for name, text := range pages {
		for line := range strings.Lines(text) {
			if term.Width(strings.TrimSuffix(line, "\n")) > 80 {
				t.Errorf("%s: wider than 80 columns: %s", name, line)
			}
		}
	}
	for name, want := range map[string]string{
		"cost":    "12 jobs in flight, none of them running when\n  last looked",
		"explain": "code,width=512\"], which is held\n",
		"advise":  "\n      237 of 240 done, 248 launches, 11 failed\n",
	} {
		if !strings.Contains(pages[name], want) {
			t.Errorf("%s does not say %q\n%s", name, want, pages[name])
		}
	}
}
