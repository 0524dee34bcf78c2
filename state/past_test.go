package state_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-run/muster/state"
)

// What was attempted stays to be read, whatever the job is free to do next.
func TestPast(t *testing.T) {
	t.Parallel()
	failed := []state.Event{intended(1, "aa"), observed(1, "aa", state.Failed), state.HeldJob{Address: addr}}
	freed := state.Freed{Address: addr}
	anew := func(token string) state.Event {
		return state.Intended{Job: state.Job{Address: addr}, Attempt: state.Attempt{N: 1, Token: token}, Fresh: true}
	}
	for _, c := range []struct {
		name   string
		events []state.Event
		want   string
	}{
		{"nothing", nil, ""},
		{"held before it was attempted, freed", []state.Event{state.HeldJob{Address: addr}, freed}, ""},
		{"freed", append(failed, freed), "1:aa"},
		{"freed twice", append(failed, freed, freed), "1:aa"},
		{"freed, then attempted", append(failed, freed, anew("bb")), "1:aa 1:bb"},
		{"freed, attempted, failed, freed", append(failed, freed, anew("bb"), observed(1, "bb", state.Failed), freed), "1:aa 1:bb"},
		{"failed, then asked for as other work", append(failed, anew("bb")), "1:aa 1:bb"},
		{"the same intent again", append(failed, anew("bb"), anew("bb")), "1:aa 1:bb"},
		{"done, then asked for anew", []state.Event{intended(1, "aa"), observed(1, "aa", state.Completed), anew("bb")}, "1:bb"},
		{"freed, then forgotten for good", append(failed, freed, state.Forgot{Address: addr, Hard: true}), ""},
		{"freed, attempted, moved there and back", append(failed, freed, anew("bb"), state.MovedJob{From: addr, To: "phase.q"}, state.MovedJob{From: "phase.q", To: addr}), "1:aa 1:bb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := state.New("c")
			for _, e := range c.events {
				s.Apply(e)
			}
			if got := text(s.Past(addr)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A job that fails for ever does not make its state grow for ever.
func TestPastIsBounded(t *testing.T) {
	t.Parallel()
	s := state.New("c")
	for n := range 1000 {
		token := fmt.Sprint("t", n)
		s.Apply(state.Intended{Job: state.Job{Address: addr}, Attempt: state.Attempt{N: 1, Token: token}, Fresh: true})
		s.Apply(observed(1, token, state.Failed))
		s.Apply(state.Freed{Address: addr})
	}
	past := s.Past(addr)
	if len(past) != 20 || past[19].Token != "t999" {
		t.Errorf("%d attempts are kept, to the last of 1000: %s", len(past), text(past))
	}
}

func text(attempts []state.Attempt) string {
	var out []string
	for _, a := range attempts {
		out = append(out, fmt.Sprintf("%d:%s", a.N, a.Token))
	}
	return strings.Join(out, " ")
}

// A job that was freed and has not started again is pending, with what was
// attempted of it.
func TestRecalled(t *testing.T) {
	t.Parallel()
	s := state.New("c")
	if j := s.Recalled(addr); j != nil {
		t.Errorf("nobody knows of it: %+v", j)
	}
	for _, e := range []state.Event{intended(1, "aa"), observed(1, "aa", state.Failed), state.HeldJob{Address: addr}, state.Freed{Address: addr}} {
		s.Apply(e)
	}
	j := s.Recalled(addr)
	if j == nil || j.Status != "pending" || j.Smoke || j.Address != addr || j.Phase == "" || len(j.Attempts) != 1 || j.Attempts[0].Token != "aa" {
		t.Errorf("%+v", j)
	}
}
