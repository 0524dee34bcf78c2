package planner

import (
	"testing"
	"time"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/state"
)

// TestFromStart: a launch resumes only from the checkpoint of an unfinished launch of the same
// definition, or of a completed one whose outputs are missing.
func TestFromStart(t *testing.T) {
	t.Parallel()
	ran := func(result, backend string) state.Attempt {
		return state.Attempt{Backend: backend, Started: time.Unix(1, 0), Result: result}
	}
	waited := state.Attempt{Backend: "here"}
	record := func(status state.Status, attempts ...state.Attempt) *state.Job {
		return &state.Job{Status: status, Result: "a", Attempts: attempts}
	}
	for name, c := range map[string]struct {
		rec     *state.Job
		earlier []state.Attempt
		result  string
		lacks   bool
		want    bool
	}{
		"new":                                {},
		"failed":                             {rec: record(state.Failed, ran("", "here")), result: "a"},
		"failed and changed":                 {rec: record(state.Failed, ran("", "here")), result: "b", want: true},
		"changed before it ran":              {rec: record(state.Cancelled, waited), result: "b"},
		"cancelled and changed":              {rec: record(state.Cancelled, ran("", "here")), result: "b", want: true},
		"done, again":                        {rec: record(state.Completed, ran("", "here")), result: "a", want: true},
		"done and changed":                   {rec: record(state.Completed, ran("", "here")), result: "b", want: true},
		"done, its outputs are missing":      {rec: record(state.Completed, ran("", "here")), result: "a", lacks: true},
		"changed, and outputs are missing":   {rec: record(state.Completed, ran("", "here")), result: "b", lacks: true, want: true},
		"resumed":                            {earlier: []state.Attempt{ran("a", "here")}, result: "a"},
		"resumed and changed":                {earlier: []state.Attempt{ran("a", "here")}, result: "b", want: true},
		"an earlier version's record":        {earlier: []state.Attempt{ran("", "here")}, result: "b"},
		"changed back":                       {earlier: []state.Attempt{ran("a", "here"), ran("b", "here")}, result: "a", want: true},
		"elsewhere, then changed":            {rec: record(state.Failed, ran("", "there")), earlier: []state.Attempt{ran("b", "here")}, result: "a", want: true},
		"elsewhere only":                     {rec: record(state.Failed, ran("", "there")), result: "b"},
		"forgotten":                          {rec: record(state.Forgotten, ran("", "here")), result: "b"},
		"submitted in place of a result":     {rec: &state.Job{Status: state.Submitting, Result: "b", Attempts: []state.Attempt{waited}, Kept: []state.Output{{Name: "o"}}}, result: "b", want: true},
		"its second launch in place of one":  {rec: &state.Job{Status: state.Failed, Result: "b", Attempts: []state.Attempt{ran("", "here")}, Kept: []state.Output{{Name: "o"}}}, result: "b"},
		"a file was in its way":              {rec: record(state.Failed, state.Attempt{Backend: "here", Started: time.Unix(1, 0), Class: failure.NotItsOwn}), result: "b"},
		"hashed by a muster that is unknown": {rec: &state.Job{Status: state.Failed, Result: "a", Scheme: 99, Attempts: []state.Attempt{ran("", "here")}}, result: "b"},
	} {
		here := func(all []state.Attempt) (out []state.Attempt) {
			for _, a := range all {
				if a.Backend == "here" {
					out = append(out, a)
				}
			}
			return out
		}
		if got := FromStart(c.rec, c.earlier, c.result, c.lacks, here); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
