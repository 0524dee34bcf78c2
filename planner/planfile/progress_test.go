package planfile

import (
	"testing"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/state"
)

// TestProgress: what was done since a plan was saved is not done again, by
// whichever apply it was; what no apply has touched is done as planned.
func TestProgress(t *testing.T) {
	// Requirement: FP-02
	c := load(t, source)
	p, _, _ := saved(t, c, nil)
	for name, tc := range map[string]struct {
		edit func(job *state.Job, plan string)
		want planner.Kind
	}{
		"untouched":                         {nil, planner.Run},
		"completed by another":              {func(*state.Job, string) {}, planner.None},
		"under way by another":              {func(j *state.Job, _ string) { j.Status = state.Queued }, planner.Continue},
		"another content, which is refused": {func(j *state.Job, _ string) { j.Result = "other" }, planner.Run},
		"completed by this plan":            {func(j *state.Job, plan string) { j.Attempts[0].Plan = plan }, planner.None},
		"running by this plan":              {func(j *state.Job, plan string) { j.Status, j.Attempts[0].Plan = state.Running, plan }, planner.Continue},
		"failed by this plan":               {func(j *state.Job, plan string) { j.Status, j.Attempts[0].Plan = state.Failed, plan }, planner.None},
		"waits for its retry":               {func(j *state.Job, plan string) { j.Status, j.Attempts[0].Plan = state.Waiting, plan }, planner.Retry},
	} {
		_, f, _ := saved(t, c, nil)
		st := &state.State{Lineage: "l"}
		if tc.edit != nil {
			st = completed(p, 0)
			tc.edit(st.Jobs[p.Phases[0].Phase.Address(0)], f.Head.ID)
		}
		plan, diags := f.Bind(c)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		f.Progress(plan, st)
		if got := plan.Phases[0].Kind[0]; got != tc.want {
			t.Errorf("%s: %s, not %s", name, got, tc.want)
		}
		if got := plan.Phases[0].Kind[1]; got != planner.Run {
			t.Errorf("%s: the job beside it: %s, not run", name, got)
		}
	}
}

// TestProgressRerun: a job that is run again although nothing changed is known
// to have been by the plan that its attempt names.
func TestProgressRerun(t *testing.T) {
	c := load(t, source)
	p, _, _ := saved(t, c, nil)
	st := completed(p, 0)
	_, f, _ := saved(t, c, st)
	job := st.Jobs[p.Phases[0].Phase.Address(0)]
	for plan, want := range map[string]planner.Kind{"": planner.Rerun, "other": planner.Rerun, f.Head.ID: planner.None} {
		got, _ := f.Bind(c)
		got.Phases[0].Kind[0] = planner.Rerun
		job.Attempts[0].Plan = plan
		f.Progress(got, st)
		if k := got.Phases[0].Kind[0]; k != want {
			t.Errorf("last run by plan %q: %s, not %s", plan, k, want)
		}
	}
}

// TestProgressSmokes: a smoke that has passed since is not run again.
func TestProgressSmokes(t *testing.T) {
	prints := []planner.Hash{{1}, {2}, {3}}
	g := planner.Gate{Run: []int{0, 4}, Waiting: []int{7}, Prints: prints}
	st := &state.State{Validations: map[string]state.Validation{prints[0].String(): {Passed: true}, prints[1].String(): {}, prints[2].String(): {Passed: true}}}
	got := smoked(g, []int{0, 4, 7}, st)
	if len(got.Run) != 1 || got.Run[0] != 4 || len(got.Waiting) != 0 || len(got.Passed) != 2 || len(g.Run) != 2 || g.Run[0] != 0 {
		t.Errorf("%+v of %+v", got, g)
	}
}
