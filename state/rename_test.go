package state_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/state"
)

// What a state keeps by address follows a phase that has another name, in a view as after the
// event, and a view of a state that has nothing of it is that state.
func TestRenamed(t *testing.T) {
	t.Parallel()
	renames := state.Renames{{From: `phase.a["k=1"]`, To: `phase.c["k=9"]`}, {From: "phase.a", To: "phase.b"}}
	s := state.New("c")
	if renames.View(s) != s || state.Renames(nil).View(s) != s {
		t.Error("an empty state has another view")
	}
	for _, e := range []state.Event{
		state.Began{Protected: []string{"a", "ab"}},
		state.HoldSet{Hold: state.Hold{Address: "phase.a", Who: "ada"}}, state.HoldSet{Hold: state.Hold{Address: `phase.a["k=1"]`}},
		state.HoldSet{Hold: state.Hold{Address: "phase.ab"}}, state.HoldSet{Hold: state.Hold{}},
		state.Overrode{Override: state.Override{Address: `phase.a["k=2"]`}}, state.Noted{Note: state.Note{Address: "phase.a", Text: "see"}},
		state.BreakerOpened{Breaker: state.Breaker{Phase: "a"}}, state.BreakerOpened{Breaker: state.Breaker{Phase: "a", Of: `phase.a["k=2"]`}},
		state.Intended{Job: state.Job{Address: `phase.a["k=3"]`}, Attempt: state.Attempt{N: 1, Token: "aa", Class: "unknown", Ended: time.Unix(1, 0)}, Fresh: true},
		state.HeldJob{Address: `phase.a["k=3"]`}, state.Freed{Address: `phase.a["k=3"]`},
	} {
		s.Apply(e)
	}
	seen := func(s *state.State) (out []string) {
		for _, h := range s.Holds {
			out = append(out, "hold "+h.Address)
		}
		for _, o := range s.Overrides {
			out = append(out, "override "+o.Address)
		}
		for _, of := range []string{"a", "b", `phase.a["k=2"]`, `phase.b["k=2"]`} {
			if b, open := s.Breakers[of]; open {
				out = append(out, "breaker "+b.Address()+" of "+b.Phase)
			}
		}
		for _, name := range []string{"a", "ab", "b"} {
			if s.Protected[name] {
				out = append(out, "protected "+name)
			}
		}
		for _, address := range []string{"phase.a", "phase.b"} {
			for _, n := range s.Notes[address] {
				out = append(out, "note "+n.Address)
			}
		}
		for _, address := range []string{`phase.a["k=3"]`, `phase.b["k=3"]`} {
			for range s.Earlier[address] {
				out = append(out, "earlier "+address)
			}
		}
		return out
	}
	before, want := seen(s), []string{"hold phase.b", `hold phase.c["k=9"]`, "hold phase.ab", "hold ", `override phase.b["k=2"]`,
		"breaker phase.b of b", `breaker phase.b["k=2"] of b`, "protected ab", "protected b", "note phase.b", `earlier phase.b["k=3"]`}
	if d := cmp.Diff(want, seen(renames.View(s))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(before, seen(s)); d != "" {
		t.Errorf("the view changed the state: %s", d)
	}
	s.Apply(state.Renamed{Renames: renames})
	if d := cmp.Diff(want, seen(s)); d != "" {
		t.Error(d)
	}
	if renames.View(s) != s {
		t.Error("it is renamed, and has another view")
	}
}
