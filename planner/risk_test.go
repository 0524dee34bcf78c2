package planner

import (
	"slices"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/budget"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/transfers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// risky is a plan of two phases, the second after the first, with smokes, files of
// unknown size and a budget.
func risky() *Plan {
	first := &PhasePlan{Phase: &lang.Phase{Name: "prep"}, Kind: []Kind{Run, Run}, Smoke: &Gate{Run: []int{0}}}
	second := &PhasePlan{Phase: &lang.Phase{Name: "train", DependsOn: []string{"prep"}}, Kind: slices.Repeat([]Kind{Run}, 8)}
	cost := []forecast.CostLine{{Unit: "usd", Expected: forecast.Figure{Text: "20"}, P90: forecast.Figure{Text: "31"}, AtMost: forecast.Figure{Text: "90"}}}
	return &Plan{
		Phases: []*PhasePlan{first, second}, Counts: Counts{Run: 10}, Unattended: []string{"prep", "train"},
		Transfers: []transfers.Transfer{{Phase: "train", Files: 3, Bytes: -1, After: "prep"}},
		Forecast:  forecast.Forecast{Lines: cost, ByScope: map[string][]forecast.CostLine{"paper": cost}, Walltime: forecast.Span{P90: 2 * time.Hour}},
		Budgets:   []budget.Check{{Name: "paper", Limits: state.Amounts{"usd": "60"}, Spent: state.Amounts{"usd": "10"}, Deadline: time.Time{}.Add(5 * time.Hour)}},
	}
}

// TestRisks: the greatest expected damage comes first.
func TestRisks(t *testing.T) {
	t.Parallel()
	var got []string
	damage := 1.0
	for _, r := range risky().Risks() {
		got = append(got, r.Text)
		if r.Damage > damage || r.Damage < 0 {
			t.Errorf("%s: %v after %v", r.Text, r.Damage, damage)
		}
		damage = r.Damage
	}
	want := []string{
		"10 jobs of `prep` and `train` wait for muster after 1 smoke: if it is closed, they start with your next `muster apply -once`",
		"the size of 3 files that move between backends is known after `prep`; their time and cost are estimates",
		"if the smoke of `prep` fails or is preempted, nothing repeats it: 10 jobs wait for `muster resume prep`",
		"no job of `prep` and `train` has ever run (10 jobs): p90 counts one attempt of each; at most the plan takes $90",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

// TestContinuedLaunchesDidNotFail: a launch whose work the next one continued from a
// checkpoint is no failure of its phase, nor is one that waited for another job in vain; one
// without a checkpoint is.
func TestContinuedLaunchesDidNotFail(t *testing.T) {
	t.Parallel()
	for checkpoint, want := range map[*lang.Checkpoint]string{
		nil:       "2 of 4 launches failed so far (1 × oom_host, 1 × walltime)",
		{Keep: 2}: "1 of 4 launches failed so far (1 × oom_host)",
	} {
		p := risky()
		ended := time.Time{}.Add(time.Hour)
		attempt := func(class string) state.Attempt { return state.Attempt{Class: class, Ended: ended} }
		p.Phases[0].Phase.Checkpoint = checkpoint
		p.Phases[0].Records = []*state.Job{
			{Status: state.Completed, Attempts: []state.Attempt{attempt("walltime"), attempt("")}},
			{Status: state.Completed, Attempts: []state.Attempt{attempt("oom_host"), attempt(offer.Blocked), attempt("")}},
		}
		if !slices.ContainsFunc(p.Risks(), func(r Risk) bool { return r.Of == "phase.prep" && r.Text == want }) {
			t.Errorf("%+v: no risk %q in %+v", checkpoint, want, p.Risks())
		}
	}
}

// TestInside: one sentence says how far inside each budget a plan is.
func TestInside(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mod  func(*Plan)
		want string
	}{
		"with what is spent": {func(*Plan) {}, `p90 is $41 of $60: 31% inside budget "paper"; its end is 3h before the deadline of budget "paper".`},
		"above":              {func(p *Plan) { p.Budgets[0].Limits["usd"], p.Budgets[0].Deadline = "40", time.Time{} }, `p90 is $41 of $40: 3% above budget "paper".`},
		"nothing is known": {func(p *Plan) {
			p.Forecast.ByScope["paper"][0].P90.Mark, p.Budgets[0].Deadline = forecast.Unknown, time.Time{}
		}, ""},
		"nothing is done":     {func(p *Plan) { p.Counts = Counts{} }, ""},
		"no budget":           {func(p *Plan) { p.Budgets = nil }, ""},
		"a limit of nothing":  {func(p *Plan) { p.Budgets[0].Limits["usd"], p.Budgets[0].Deadline = "0", time.Time{} }, `p90 is $41 of $0: 100% above budget "paper".`},
		"it is exactly there": {func(p *Plan) { p.Budgets[0].Limits["usd"], p.Budgets[0].Deadline = "41", time.Time{} }, `p90 is $41 of $41: 0% inside budget "paper".`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := risky()
			c.mod(p)
			if got := p.Inside(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
