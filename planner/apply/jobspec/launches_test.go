package jobspec

import (
	"testing"
	"time"

	"github.com/muster-run/muster/state"
)

func at(minute int) time.Time { return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC) }

// Launches 2 and 3 were made under one token, launch 1 under another.
func relaunched() *state.Job {
	return &state.Job{Attempts: []state.Attempt{
		{N: 1, Token: "a/1", Queued: at(0), Started: at(1), Ended: at(2)},
		{N: 2, Token: "b/2", Queued: at(10), Started: at(14), Ended: at(20)},
		{N: 3, Token: "b/3"},
	}}
}

func TestLaunchesOfAToken(t *testing.T) {
	t.Parallel()
	j := relaunched()
	for token, want := range map[string]int{"a": 1, "b": 2, "c": 1} {
		if got := FirstLaunch(j, token); got != want {
			t.Errorf("the first under %s is %d, not %d", token, got, want)
		}
	}
	if !Ran(j, "b", 2) || Ran(j, "b", 3) || Ran(j, "b", 1) || Ran(nil, "b", 2) {
		t.Error("launch 2 alone ran under b")
	}
}

// A launch waited since it was queued, and one that its queue made after another
// since that one ended.
func TestWaited(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	h := func(n int) time.Time { return at.Add(time.Duration(n) * time.Hour) }
	first := state.Attempt{N: 1, Token: "aa", Queued: h(0), Started: h(2), Ended: h(3)}
	for name, c := range map[string]struct {
		attempts []state.Attempt
		seen     time.Time
		n        int
		want     time.Duration
	}{
		"as its end says":             {[]state.Attempt{{N: 1, Token: "aa", Queued: h(0)}}, h(5), 1, 5 * time.Hour},
		"as was seen before":          {[]state.Attempt{first}, time.Time{}, 1, 2 * time.Hour},
		"its queue launched it again": {[]state.Attempt{first, {N: 2, Token: "aa/2"}}, h(7), 2, 4 * time.Hour},
		"submitted again":             {[]state.Attempt{first, {N: 2, Token: "bb", Queued: h(6)}, {N: 2, Token: "aa/2", Queued: h(5)}}, h(7), 2, 2 * time.Hour},
		"its host's clock is behind":  {[]state.Attempt{{N: 1, Token: "aa", Queued: h(2)}}, h(1), 1, 0},
		"it never began":              {[]state.Attempt{{N: 1, Token: "aa", Queued: h(0)}}, time.Time{}, 1, -1},
		"nobody knows since when":     {[]state.Attempt{{N: 1, Token: "aa"}}, h(5), 1, -1},
		"of another token":            {[]state.Attempt{{N: 1, Token: "bb", Queued: h(0)}}, h(5), 1, -1},
		"nothing of it is known":      {nil, h(5), 1, -1},
	} {
		if got := Waited(&state.Job{Attempts: c.attempts}, "aa", c.seen, c.n); got != c.want {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
	if got := Waited(nil, "aa", h(5), 1); got != -1 {
		t.Errorf("of a job that is not in the state: %v", got)
	}
}
