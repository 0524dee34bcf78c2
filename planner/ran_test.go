package planner

import (
	"testing"
	"time"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/state"
)

// A launch whose command never began left nothing: what is at its outputs is not its own,
// although its start was seen.
func TestNotRunOwnsNothing(t *testing.T) {
	begun := state.Attempt{Started: time.Now(), Class: failure.MissingFile}
	notRun, foreign := begun, begun
	notRun.NotRun, foreign.Class = true, failure.NotItsOwn
	for _, c := range []struct {
		last state.Attempt
		own  bool
	}{{begun, true}, {notRun, false}, {foreign, false}} {
		g := OwnFiles(&state.Job{Attempts: []state.Attempt{c.last}}, nil, "")
		if g.Unseen != c.own || g.Begun != c.own {
			t.Errorf("%+v: %+v", c.last, g)
		}
	}
	g := OwnFiles(&state.Job{Attempts: []state.Attempt{begun, notRun}}, nil, "")
	if !g.Unseen {
		t.Error("the launch before it ran, and is forgotten")
	}
}
