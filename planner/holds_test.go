package planner

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/state"
)

// TestHolds: a hold covers what its address selects, and says by whom, why and
// until when; one that cannot be read covers everything.
func TestHolds(t *testing.T) {
	for _, c := range []struct {
		hold   state.Hold
		covers string // of the jobs below
		text   string
		warns  bool
	}{
		{state.Hold{Who: "ada"}, "a[n=1] a[n=2] b", "held by ada; until `muster resume`", false},
		{state.Hold{Reason: "lunch"}, "a[n=1] a[n=2] b", "held by someone: lunch; until `muster resume`", false},
		{state.Hold{Address: "phase.a", Who: "ada", Reason: "lunch"}, "a[n=1] a[n=2]", "held by ada: lunch; until `muster resume phase.a`", false},
		{state.Hold{Address: `phase.a["n=2"]`, Who: "ada"}, "a[n=2]", "held by ada; until `muster resume 'phase.a[\"n=2\"]'`", false},
		{state.Hold{Address: "the-figure", Who: "ada"}, "b", "held by ada; until `muster resume the-figure`", false},
		{state.Hold{Address: `phase.a["`, Who: "ada"}, "a[n=1] a[n=2] b", "held by ada; until `muster resume`", true},
	} {
		list, diags := holdsOf(&state.State{Holds: []state.Hold{c.hold}})
		if len(list) != 1 || (len(diags) > 0) != c.warns || diags.HasErrors() {
			t.Fatalf("%+v: %d holds, %v", c.hold, len(list), diags)
		}
		h := &list[0]
		var got []string
		for _, j := range []struct{ phase, key, name, label string }{{"a", "n=1", "a[n=1]", "a-1"}, {"a", "n=2", "a[n=2]", "a-2"}, {"b", "", "b", "the-figure"}} {
			if h.covers(addr.Job{Phase: j.phase, Key: j.key}, j.label) {
				got = append(got, j.name)
			}
		}
		if covers := strings.Join(got, " "); covers != c.covers || h.text() != c.text {
			t.Errorf("%+v covers %q, not %q, and says %q, not %q", c.hold, covers, c.covers, h.text(), c.text)
		}
	}
}

func TestBreakerText(t *testing.T) {
	at := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	for want, b := range map[string]state.Breaker{
		"breaker open since 2026-10-01 09:00 UTC: nan, 3 times; `muster resume phase.a` closes it": {Phase: "a", At: at, Cause: "nan", Reason: "nan, 3 times"},
		"breaker open since 2026-10-01 09:00 UTC: nan; `muster resume phase.a` closes it":          {Phase: "a", At: at, Cause: "nan"},
	} {
		if got := breakerText(b); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
