package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

var now = time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)

// one is a campaign of one phase of two jobs of an hour each, and what is asked
// to plan it.
func one(t *testing.T) planner.Input {
	t.Helper()
	c, diags := lang.LoadFiles(map[string][]byte{"t.muster.hcl": []byte(`campaign "test" {}
phase "a" {
  grid { axes = { seed = [1, 2] } }
  job {
    command = "train ${cell.seed}"
    resources { walltime = "1h" }
  }
}
`)}, lang.LoadOptions{Dir: t.TempDir()})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return planner.Input{Campaign: c, Now: now, State: &state.State{Lineage: "l", Jobs: map[string]*state.Job{}},
		Pools: []offer.Pool{{Backend: "local.local", CPUs: 4, Idle: 4, Total: 4, Price: offer.Price{Known: true}}}}
}

// TestNamesWhatIsInTheWay: a full volume and a budget that is used up
// keep a job from starting as well as another job does.
func TestNamesWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	const on = "local.local"
	budgets := []lang.Budget{{Name: "hours", Limits: map[string]string{"cpu_hours": "5"}}}
	for name, x := range map[string]struct {
		change func(*planner.Input)
		want   string // "" = nothing is
	}{
		"nothing": {func(*planner.Input) {}, ""},
		"a volume that an apply found full": {func(in *planner.Input) {
			in.State.Pauses = map[string]state.Pause{on: {Backend: on, Reason: "/data: 99 % of its inodes are used", At: now}}
		}, "/data: 99 % of its inodes are used"},
		"a volume that was full when it was looked at": {func(in *planner.Input) {
			in.Observed.Findings = []observed.Finding{{Diagnostic: diag.Diagnostic{Severity: diag.Warning, Detail: "/data is full"}, On: on, Pauses: true}}
		}, "/data is full"},
		"a full volume of another backend": {func(in *planner.Input) {
			in.State.Pauses = map[string]state.Pause{"ssh.other": {Backend: "ssh.other", Reason: "full"}}
		}, ""},
		"what is spent": {func(in *planner.Input) {
			in.State.Ledger = []state.Entry{{Address: "phase.a", Phase: "a", Backend: on, Spent: state.TextsOf(state.Amounts{"cpu_hours": "4.5"})}}
		}, `budget "hours" does not cover it: 4.5 CPU-hours spent, 0 CPU-hours in flight at its ceiling, and `},
		"what is in flight": {func(in *planner.Input) {
			in.State.Jobs["phase.z"] = &state.Job{Address: "phase.z", Phase: "z", Status: state.Running, Attempts: []state.Attempt{{N: 1, Backend: on, Started: now, Ceiling: state.Amounts{"cpu_hours": "4.8"}}}}
		}, "4.8 CPU-hours in flight at its ceiling"},
	} {
		in := one(t)
		in.Campaign.Budgets = budgets
		x.change(&in)
		p, _ := planner.Make(in)
		got, err := Of(p, in, "a", 1)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(got.Barred, "|"); x.want == "" && text != "" || !strings.Contains(text, x.want) {
			t.Errorf("%s: %q, not %q", name, text, x.want)
		}
	}
}

// TestListsEveryCandidate: also one that the policy keeps out, and one
// that nobody could be asked about. The plan's own list stays as it is.
func TestListsEveryCandidate(t *testing.T) {
	t.Parallel()
	in := one(t)
	in.Campaign.Phases[0].Candidates = []string{"local.local", "ssh.denied", "ssh.away"}
	in.Campaign.Policy.Deny = []string{"ssh.denied"}
	in.Observed.Unreachable = map[string]string{"ssh.away": "no route"}
	p, diags := planner.Make(in)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	x, err := Of(p, in, "a", 0)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range x.Decision.Candidates {
		got[c.Backend] = c.Why
	}
	if len(got) != 3 || got["ssh.denied"] != "deny in policy keeps it out" || got["ssh.away"] != "cannot be asked: no route" {
		t.Errorf("%v", got)
	}
	for _, c := range p.Phases[0].Placements[1].Candidates {
		if c.Backend == "ssh.denied" {
			t.Error("explaining a plan approves more")
		}
	}
}

// TestOverflowHasFigures: where jobs may go that would wait, with what one costs
// there; no ceiling counts it for a job that does not go there.
func TestOverflowHasFigures(t *testing.T) {
	t.Parallel()
	in := one(t)
	in.Campaign.Phases[0].Candidates, in.Campaign.Phases[0].Overflow = []string{"local.local"}, []string{"sim.rent", "sim.away"}
	in.Pools = append(in.Pools, offer.Pool{Backend: "sim.rent", Name: "big", CPUs: 8, Idle: 8, Total: 8, Price: offer.Price{Known: true, USDPerHour: "3"}})
	in.Observed.Unreachable = map[string]string{"sim.away": "no route"}
	p, diags := planner.Make(in)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	x, err := Of(p, in, "a", 0)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range x.Decision.Candidates {
		got[c.Backend] = c.Cost["usd"] + " " + c.Why
	}
	if len(got) != 3 || got["sim.rent"] != "1.5 "+place.OverflowTakes || got["sim.away"] != " cannot be asked: no route" {
		t.Errorf("%q", got)
	}
	if x.Ceiling["usd"] != "" && x.Ceiling["usd"] != "0" {
		t.Errorf("at most %v", x.Ceiling)
	}
}

// TestFiguresOfAJobThatStaysAreThoseOfItsPhase: the cost elsewhere of a job
// that does not start is counted by the runtimes of its phase, as is the cost
// there of the others that start.
func TestFiguresOfAJobThatStaysAreThoseOfItsPhase(t *testing.T) {
	t.Parallel()
	in := one(t)
	in.Pools[0].Price = offer.Price{Known: true, USDPerHour: "6"}
	first, _ := planner.Make(in)
	a := first.Phase("a")
	in.State.Jobs[a.Phase.Address(0)] = &state.Job{Address: a.Phase.Address(0), Phase: "a", Axes: state.TextsOf(a.Phase.Axes(0)), Scheme: planner.Scheme, Status: state.Completed, Result: a.Result[0].String(),
		Attempts: []state.Attempt{{N: 1, Token: "t", Backend: "local.local", Started: now.Add(-time.Hour), Ended: now.Add(-time.Hour + 10*time.Minute)}}}
	p, _ := planner.Make(in)
	for cell, does := range []string{"is done", "starts"} {
		x, err := Of(p, in, "a", cell)
		if err != nil {
			t.Fatal(err)
		}
		if c := x.Decision.Candidates; len(c) != 1 || c[0].Cost["usd"] != "1" {
			t.Errorf("of the job that %s: %+v, not $1 for ten minutes", does, c)
		}
	}
}
