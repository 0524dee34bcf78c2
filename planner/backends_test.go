package planner

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// TestWaitAtTheHead: the wait that a plan counts for its work is beside what is
// free where that goes, too, where the pool itself quotes none.
func TestWaitAtTheHead(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]string{-1: "", 0: "", 25 * time.Minute: ", about 25m wait"} {
		in := input(load(t, nil, phaseSpec{name: "a", lr: "1"}), nil)
		in.Pools[0].Wait = -1
		first, _ := Make(in)
		in.Quotes = []place.Quoted{{Shape: first.Phases[0].Decision(0).Shape, Quote: offer.Quote{Backend: "local.local", Pool: in.Pools[0].Name, Fits: true, Wait: wait}}}
		p, _ := Make(in)
		if got := p.Backends[0].Summary; strings.HasSuffix(got, " wait") != (want != "") || !strings.HasSuffix(got, want) {
			t.Errorf("a wait of %s: %q", wait, got)
		}
	}
}
