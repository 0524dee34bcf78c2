package history

import (
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/state"
)

func TestFollow(t *testing.T) {
	blocks := MovedOf([]lang.Moved{
		{From: "phase.a", To: "phase.b"}, {From: "phase.b", To: "phase.c"}, // a chain
		{From: `phase.c["n=1"]`, To: `phase.c["n=2"]`},                     // of one job
		{From: "phase.x", To: "phase.y"}, {From: "phase.y", To: "phase.x"}, // a circle
		{From: "phase.old-one", To: "phase.new"},
	})
	for from, want := range map[string]string{
		"phase.b":             "phase.c",
		"phase.a":             "phase.c",
		`phase.a["n=7"]`:      `phase.c["n=7"]`,
		`phase.a["n=1"]`:      `phase.c["n=2"]`,
		"phase.old":           "phase.old", // a name that another begins with
		`phase.q["n=1"]`:      `phase.q["n=1"]`,
		"smoke.phase.a":       "smoke.phase.a",
		`phase.a["n=\"q]\""]`: `phase.c["n=\"q]\""]`,
	} {
		if got, _ := blocks.Follow(from); got != want {
			t.Errorf("%s: %s, not %s", from, got, want)
		}
	}
	if got, _ := blocks.Follow("phase.x"); got != "phase.x" && got != "phase.y" {
		t.Errorf("a circle leads to %s", got)
	}
	if got, used := blocks.Follow("phase.a"); used.From != "phase.b" {
		t.Errorf("to %s by %+v, not by the last block", got, used)
	}
}

// TestMatches: a record is a job's when its hash is the only one of its kind
// among the records and among the jobs.
func TestMatches(t *testing.T) {
	hash := result.Hash{1}
	record := func() *state.Job { return &state.Job{Result: hash.String()} }
	for _, c := range []struct {
		name   string
		offer  func(m Matches)
		wanted int
		found  bool
	}{
		{"nothing offered", func(Matches) {}, 1, false},
		{"one and one", func(m Matches) { m.Offer(1, record(), true) }, 1, true},
		{"one and two", func(m Matches) { m.Offer(1, record(), true) }, 2, false},
		{"two and one", func(m Matches) { m.Offer(1, record(), true); m.Offer(1, record(), true) }, 1, false},
		{"one that nothing is left of", func(m Matches) { m.Offer(1, record(), false) }, 1, false},
		{"one beside it", func(m Matches) { m.Offer(1, record(), false); m.Offer(1, record(), true) }, 1, false},
		{"of another scheme", func(m Matches) { m.Offer(2, record(), true) }, 1, false},
		{"without a hash", func(m Matches) { m.Offer(1, &state.Job{}, true) }, 1, false},
	} {
		m := Matches{}
		c.offer(m)
		for range c.wanted {
			m.Want(1, hash)
		}
		if got := m.For(1, hash) != nil; got != c.found {
			t.Errorf("%s: found %t", c.name, got)
		}
	}
}
