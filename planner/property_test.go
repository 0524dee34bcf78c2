package planner

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-run/muster/state"
)

// campaigns are up to four phases of up to five jobs, chained at random.
func campaigns() *rapid.Generator[[]phaseSpec] {
	return rapid.Custom(func(t *rapid.T) []phaseSpec {
		n := rapid.IntRange(1, 4).Draw(t, "phases")
		seeds := rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 1, 5, rapid.ID[int]).Draw(t, "seeds")
		var out []phaseSpec
		for i := range n {
			s := phaseSpec{name: fmt.Sprintf("p%d", i), seeds: seeds, lr: rapid.SampledFrom([]string{"0.1", "0.2"}).Draw(t, "lr")}
			if i > 0 && rapid.Bool().Draw(t, "chained") {
				s.input = out[rapid.IntRange(0, i-1).Draw(t, "producer")].name
				s.all = rapid.Bool().Draw(t, "all")
			}
			if rapid.Bool().Draw(t, "smoke") {
				s.smoke = true
			}
			s.pilot = rapid.Bool().Draw(t, "pilot")
			out = append(out, s)
		}
		return out
	})
}

func TestReorderingAxisValuesChangesNothing(t *testing.T) {
	// Requirement: RES-05
	rapid.Check(t, func(rt *rapid.T) {
		specs := campaigns().Draw(rt, "campaign")
		a := planned(t, input(load(t, nil, specs...), nil))
		shuffled := slices.Clone(specs)
		r := rand.New(rand.NewSource(rapid.Int64().Draw(rt, "order")))
		for i := range shuffled {
			shuffled[i].seeds = slices.Clone(shuffled[i].seeds)
			r.Shuffle(len(shuffled[i].seeds), func(x, y int) {
				s := shuffled[i].seeds
				s[x], s[y] = s[y], s[x]
			})
		}
		b := planned(t, input(load(t, nil, shuffled...), nil))
		for i, pp := range a.Phases {
			if !slices.Equal(pp.Result, b.Phases[i].Result) || !slices.Equal(pp.Kind, b.Phases[i].Kind) {
				rt.Fatalf("phase %s differs after its axis values were reordered", pp.Phase.Name)
			}
		}
	})
}

func TestSameInputsSamePlan(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := load(t, nil, campaigns().Draw(rt, "campaign")...)
		st := scattered(rt, planned(t, input(c, nil)))
		a, _ := Make(input(c, st))
		b, _ := Make(input(c, st))
		if a.ID != b.ID || a.Counts != b.Counts || fmt.Sprint(a.Notes, a.Diags, a.Budgets, a.Forecast) != fmt.Sprint(b.Notes, b.Diags, b.Budgets, b.Forecast) {
			rt.Fatalf("two plans of the same inputs differ:\n%+v\n%+v", a.Counts, b.Counts)
		}
	})
}

// TestPlanOfAnAppliedPlanIsEmpty folds the events of a whole apply into the
// state, from any state, until the plan has nothing left to do.
func TestPlanOfAnAppliedPlanIsEmpty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		specs := campaigns().Draw(rt, "campaign")
		c := load(t, nil, specs...)
		first := planned(t, input(c, nil))
		st := scattered(rt, first)
		if rapid.Bool().Draw(rt, "edited") {
			specs[0].lr = "0.3"
			c = load(t, nil, specs...)
		}
		p := planned(t, input(c, st))
		apply(st, p)
		again := planned(t, input(c, st))
		if again.Counts.Restore > 0 && p.Counts.Rerun > 0 && p.Counts.Blocked > 0 {
			// A result that a re-run replaced is that of a blocked job: it is restored, and
			// the jobs that come after it run.
			apply(st, again)
			again = planned(t, input(c, st))
		}
		if again.Counts.Changes() {
			rt.Fatalf("after applying %+v there is still %+v", p.Counts, again.Counts)
		}
	})
}

// scattered is a state in which some jobs ran, to some end.
func scattered(rt *rapid.T, p *Plan) *state.State {
	st := &state.State{Lineage: "l"}
	for _, pp := range p.Phases {
		d := pp.Phase.Definition()
		st.Apply(state.Defined{Digest: d.Digest, Definition: d.JSON})
		for i := range pp.Kind {
			s := rapid.SampledFrom([]state.Status{"", state.Completed, state.Running, state.Failed, state.Queued, state.Held}).Draw(rt, "status")
			if s != "" {
				bring(st, p, pp, i, s)
			}
		}
	}
	return st
}

// bring folds the events that take a job to a status.
func bring(st *state.State, p *Plan, pp *PhasePlan, i int, s state.Status) {
	job := record(pp, i, s)
	job.Inputs = state.TextsOf(p.InputHashes(pp, i))
	attempt := state.Attempt{N: 1, Token: fmt.Sprintf("%s-%s-%d", p.ID, job.Address, len(st.Jobs)), Backend: "local.local"}
	st.Apply(state.Intended{Job: *job, Attempt: attempt, Fresh: true, At: now})
	st.Apply(state.Submitted{Address: job.Address, Token: attempt.Token, Handle: "h", At: now})
	switch s {
	case state.Queued:
	case state.Held:
		st.Apply(state.HeldJob{Address: job.Address, Reason: "test", By: "ada", At: now})
	default:
		attempt.Started = now
		st.Apply(state.Observed{Address: job.Address, Token: attempt.Token, Status: s, Attempt: attempt, Outputs: job.Outputs, At: now})
	}
}

// apply folds what an engine would do with a plan in which nothing fails.
func apply(st *state.State, p *Plan) {
	for _, pp := range p.Phases {
		d := pp.Phase.Definition()
		st.Apply(state.Defined{Digest: d.Digest, Definition: d.JSON})
		if g := pp.Smoke; g != nil {
			for k, cell := range pp.Phase.Smoke.Cells {
				if slices.Contains(g.Run, cell) {
					st.Apply(state.Validated{Validation: state.Validation{Fingerprint: g.Prints[k].String(), Passed: true, At: now, Address: pp.Phase.Address(cell)}})
				}
			}
		}
		for i, k := range pp.Kind {
			d := pp.Detail(i)
			switch {
			case d.From != "":
				st.Apply(state.MovedJob{From: d.From, To: pp.Phase.Address(i), Axes: pp.Phase.Axes(i), At: now})
				fallthrough
			case k.Starts() || k == Restore:
				if k.Starts() || k == Restore {
					bring(st, p, pp, i, state.Completed)
				}
			case k == Continue:
				job := st.Jobs[pp.Phase.Address(i)]
				at := *job.Last()
				st.Apply(state.Observed{Address: job.Address, Token: at.Token, Status: state.Completed, Attempt: at, Outputs: []state.Output{{Name: "out", Backend: "local.local", Digest: "sha256:" + job.Address}}, At: now})
			}
		}
	}
	for _, r := range p.Loose {
		if r.Kind == Forget || r.Kind == Cancel {
			st.Apply(state.Forgot{Address: r.Address, At: now})
		}
	}
}
