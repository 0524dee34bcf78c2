package apply

import (
	"errors"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	begun := state.Approval{Plan: "p1", Digest: "d1", Begun: at}
	done := state.Approval{Plan: "p2", Digest: "d1", Begun: at, Finished: at.Add(time.Hour), Who: "ada"}
	other := state.Approval{Plan: "p3", Digest: "d2", Begun: at}
	for name, c := range map[string]struct {
		approvals []state.Approval
		want      string
	}{
		"never approved":            {nil, ""},
		"begun":                     {[]state.Approval{begun}, "p1"},
		"finished":                  {[]state.Approval{done}, ""},
		"an older one goes on":      {[]state.Approval{begun, done}, "p1"},
		"a later one is for others": {[]state.Approval{begun, other}, ""},
		"never begun":               {[]state.Approval{begun, {Plan: "p4", Digest: "d2"}}, "p1"},
	} {
		if got := openPlan(&state.State{Approvals: c.approvals}, "d1"); got != c.want {
			t.Errorf("%s: %q goes on, not %q", name, got, c.want)
		}
	}
	st := &state.State{Approvals: []state.Approval{begun, done}}
	var finished *finishedError
	if _, err := resumes(st, "p2"); !errors.As(err, &finished) || finished.Who != "ada" {
		t.Errorf("a finished plan: %v", err)
	}
	if again, err := resumes(st, "p1"); !again || err != nil {
		t.Errorf("a begun plan: %v, %v", again, err)
	}
	st.Approvals = append(st.Approvals, state.Approval{Plan: "p5", Begun: at, Finished: at, Outcome: state.Superseded})
	if again, err := resumes(st, "p5"); !again || err != nil {
		t.Errorf("a plan that another took the place of: %v, %v", again, err)
	}
	if got := unfinishedPlans(st, "p9"); len(got) != 1 || got[0] != "p1" {
		t.Errorf("unfinished: %v", got)
	}
	if again, err := resumes(st, "p9"); again || err != nil {
		t.Errorf("a new plan: %v, %v", again, err)
	}
}

// TestVariables: of a sensitive value nothing is kept but a digest that another
// lineage's is not like.
func TestVariables(t *testing.T) {
	t.Parallel()
	c := &lang.Campaign{Variables: []lang.Variable{{Name: "n", Text: "3"}, {Name: "key", Sensitive: true, Digest: "d", Text: `"secret"`}, {Name: "bare", Sensitive: true, Text: `"secret"`}}}
	got, other := keptVariables(c, "l1"), keptVariables(c, "l2")
	if len(got) != 2 || string(got["n"].Value) != "3" || got["key"].Value != nil || got["key"].Digest == "" || got["key"].Digest == other["key"].Digest {
		t.Errorf("%+v, and under another lineage %+v", got, other)
	}
}
