package planner

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
)

// TestRentalsThatNobodyAsked: a plan that may not ask a cloud for its prices says what its
// jobs cost at most by the limits that the block states, and what ends the bill.
func TestRentalsThatNobodyAsked(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		config    string
		walltime  string
		rents     bool
		deadMan   bool
		refreshed bool
		want      []string
	}{
		"at its limits": {`{"max_usd_per_hour": 0.6, "max_boxes": 2}`, "1h", true, true, true, []string{
			"Cost: backend.vastai.cloud was not asked for prices. It rents no machine over $0.60/h (max_usd_per_hour): at that price 2 jobs would cost at most $1.50, slow boots and idle time included; budget \"cash\" ends at $2.",
			"backend.vastai.cloud keeps an idle machine for 10m, at up to $0.60/h ($0.10 each, counted above), then releases it if every output is here. With muster off it does so itself, too; without every output here it stops, and its disk is billed until `muster destroy`.",
			"`MUSTER_TRUST=1 muster plan` asks backend.vastai.cloud for live offers and prices; it rents nothing.",
		}},
		"nothing ends it but muster": {`{"max_usd_per_hour": "1.40"}`, "1h", true, false, false, []string{
			"at that price 2 jobs would cost at most $3.50, slow boots and idle time included; budget \"cash\" ends at $2.",
			"releases it if every output is here.",
			"backend.vastai.cloud: no ceiling while muster is off: $1.40/h. Only muster and the provider's console end a machine there.",
			"Without -refresh=false the plan asks backend.vastai.cloud for live offers and prices; it rents nothing.",
		}},
		"without a limit":    {`{}`, "1h", true, true, true, nil},
		"that rents nothing": {`{"max_usd_per_hour": 0.6}`, "1h", false, false, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := load(t, func(c *lang.Campaign) {
				c.Backends = append(c.Backends, &lang.Backend{Type: "vastai", Name: "cloud", Config: json.RawMessage(x.config), Rents: x.rents, DeadMan: x.deadMan, Boot: 5 * time.Minute, Hold: 10 * time.Minute, OnHold: "release"})
				c.Budgets = append(c.Budgets, lang.Budget{Name: "cash", Limits: map[string]string{"usd": "2"}})
			}, phaseSpec{name: "a", lr: "1", seeds: []int{1, 2}, wall: x.walltime, mod: func(p *lang.Phase) { p.Candidates = []string{"vastai.cloud"} }})
			in := input(c, nil)
			in.Observed.Refreshed = x.refreshed
			in.Observed.Unreachable = map[string]string{"vastai.cloud": "it is not trusted yet"}
			in.Observed.Unasked = map[string]bool{"vastai.cloud": true}
			p, _ := Make(in)
			var got []string
			for _, n := range p.Notes {
				if strings.Contains(n, "vastai.cloud") {
					got = append(got, n)
				}
			}
			if len(got) != len(x.want) {
				t.Fatalf("%q", got)
			}
			for i, w := range x.want {
				if !strings.Contains(got[i], w) {
					t.Errorf("%q is not in\n%q", w, got[i])
				}
			}
		})
	}
}
