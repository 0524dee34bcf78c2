package retry

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// TestSmokes: words are the reasons of failed smokes, the latest last.
func TestSmokes(t *testing.T) {
	t.Parallel()
	policy := lang.Breaker{SameError: 3, Share: 0.15}
	for words, c := range map[string]struct {
		policy lang.Breaker
		trip   string
	}{
		"":                         {policy, ""},
		"nan nan":                  {policy, "the smoke failed 2 times in a row with the same error: nan"},
		"nan nan nan":              {policy, "the smoke failed 3 times in a row with the same error: nan"},
		"loss=7.1 loss=7.2 loss=8": {policy, "the smoke failed 3 times in a row with the same error: loss=8"},
		"nan oom nan":              {policy, ""},
		"a b c d":                  {policy, ""},
		"a b c d e":                {policy, "5 smokes have failed and none passed, the last: e"},
		"a b c d e f":              {policy, "6 smokes have failed and none passed, the last: f"},
		"nan nan nan nan":          {lang.Breaker{SameError: 5}, "the smoke failed 4 times in a row with the same error: nan"},
		"x x x x":                  {lang.Breaker{}, ""},
	} {
		trip := Smokes(strings.Fields(words), c.policy)
		if got := (trip != nil); got != (c.trip != "") || got && trip.Reason != c.trip {
			t.Errorf("%q: %+v, want %q", words, trip, c.trip)
		}
	}
}

// TestFailedSmokes: only what failed since the last that passed, or since a
// person let the gate pass, in the order of time, and only of the phase.
func TestFailedSmokes(t *testing.T) {
	// Requirement: CB-02, SM-18
	t.Parallel()
	at := func(minute int) time.Time { return time.Date(2026, 10, 1, 9, minute, 0, 0, time.UTC) }
	smoke := func(minute int, address string, passed bool) state.Validation {
		return state.Validation{Address: address, Fingerprint: "f" + strconv.Itoa(minute), Passed: passed, Message: "at " + strconv.Itoa(minute), At: at(minute)}
	}
	all := map[string]state.Validation{}
	for _, v := range []state.Validation{smoke(9, "phase.a", false), smoke(3, "phase.a", true), smoke(1, "phase.a", false), smoke(5, `phase.a["n=1"]`, false), smoke(7, "phase.b", false), smoke(6, "nothing.c", false)} {
		all[v.Fingerprint] = v
	}
	for minute, want := range map[int]string{0: "at 5,at 9", 6: "at 9", 9: ""} {
		st := &state.State{Validations: all}
		if minute > 0 {
			st.Overrides = []state.Override{{Address: "phase.a", At: at(minute)}, {Address: "phase.b", At: at(30)}}
		}
		if got := strings.Join(FailedSmokes(st, "a"), ","); got != want {
			t.Errorf("overridden at %d: %q, want %q", minute, got, want)
		}
	}
}
