package apply

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
)

// TestPartialIsHeldBack: a scheduler that orders jobs by itself would start a job only
// after all of its producers, or after any end of them. A job that goes on with some is
// submitted by muster, when all have ended, and comes after nothing; so does what reads it.
// Requirement: DEP-02, DEP-03
func TestPartialIsHeldBack(t *testing.T) {
	t.Parallel()
	s := newStage(t, strings.Replace(chain, `{ from_all = phase.b.output.o }`, "{\nfrom_all = phase.b.output.o\nrequire = \"50%\"\n}", 1))
	s.world.result = func(j providers.Job, _ int) jobResult {
		r := jobResult{takes: time.Millisecond}
		if j.Address == `phase.a["n=2"]` {
			r.exit, r.class = 3, "nan"
		}
		return r
	}
	s.conf = detached
	o := s.must(t.Context())
	if o.Submitted != 9 || !strings.Contains(o.First, "phase.c needs only some of phase.b, which muster decides when all of them have ended") || o.Next != "muster apply -once" {
		t.Errorf("detach %+v", o)
	}
	s.world.settle(t)
	s.conf = once
	for range 2 {
		s.must(t.Context())
		s.world.settle(t)
	}
	s.conf = nil
	s.check(s.must(t.Context()), "end done=7 failed=1 held=0 blocked=2 left=0")
	if !slices.Contains(s.world.logs, "phase.c") {
		t.Fatalf("phase.c did not start: %v", s.world.logs)
	}
	for _, j := range s.world.jobs {
		if j.Address != "phase.c" {
			continue
		}
		in := j.Inputs[0]
		if len(j.After) != 0 || !in.Partial || len(in.Paths) != 4 || !slices.Equal(in.Missing, []string{"m=1,n=2", "m=2,n=2"}) || in.List == "" {
			t.Errorf("phase.c comes after %v and reads %+v", j.After, in)
		}
	}
}
