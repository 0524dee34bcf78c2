package apply

import (
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/state"
)

func TestNeeded(t *testing.T) {
	t.Parallel()
	c := &lang.Campaign{Backends: []*lang.Backend{{Type: "ssh", Name: "a"}, {Type: "ssh", Name: "b"}, {Type: "slurm", Name: "c"}}}
	p := &lang.Phase{Name: "p"}
	reader := &lang.Phase{Name: "q", Inputs: []*lang.Input{{Name: "x", From: p}}}
	plan := &planner.Plan{Phases: []*planner.PhasePlan{{Phase: p}, {Phase: reader, Placements: []place.Decision{{}, {Backend: "ssh.a", Candidates: []place.Candidate{
		{Backend: "slurm.c", Fits: true}, {Backend: "ssh.b"}, {Backend: "slurm.gone", Fits: true}}}}}}}
	st := &state.State{Jobs: map[string]*state.Job{"phase.p": {Address: "phase.p", Phase: "p", Status: state.Completed,
		Attempts: []state.Attempt{{N: 1, Backend: "slurm.c"}}, Outputs: []state.Output{{Name: "o", Backend: "ssh.b"}}}}}
	held := &state.State{Jobs: st.Jobs, Holds: []state.Hold{{Who: "ada"}}}
	for name, r := range map[string]struct {
		run  requiredBackends
		want string
	}{
		"where jobs go, and where what they read lies": {requiredBackends{plan, c, st, true}, "ssh.a ssh.b"},
		"a queue that was told to stop":                {requiredBackends{plan, c, held, true}, "slurm.c ssh.a ssh.b"},
		"nothing is started":                           {requiredBackends{plan, c, st, false}, ""},
		"a done job's input that nobody has read": {requiredBackends{&planner.Plan{Phases: []*planner.PhasePlan{
			{Phase: &lang.Phase{Name: "r", Raw: []*lang.RawInput{{Name: "x", Backend: "ssh.b"}, {Name: "y", Backend: "ssh.a"}, {Name: "z"}}},
				Raw: map[string][][]result.File{"x": {{{Path: "1", Digest: "sha256:1"}}, {{Path: "2"}}}, "y": {{{Path: "3", Digest: "sha256:3"}}}, "z": {{{Path: "4"}}}}}}}, c, st, true}, "ssh.b"},
		"rentals are released": {requiredBackends{&planner.Plan{Loose: []planner.Row{{Release: true, Backend: "vastai.v"}}}, c, st, true}, "vastai.v"},
	} {
		if got := strings.Join(r.run.Needed(), " "); got != r.want {
			t.Errorf("%s: %q is reached, not %q", name, got, r.want)
		}
	}
	if got := (requiredBackends{plan, c, st, true}).Spares(); !slices.Equal(got, []string{"slurm.c"}) {
		t.Errorf("spares %q", got)
	}
}
