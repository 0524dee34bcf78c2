package rehearse

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/state"
)

// Unexpected is the class of a smoke that ended well and said other than its
// phase expects; its share may be stated like that of any class.
const Unexpected = "expect"

// didFail begins the message of a smoke that did not end well.
const didFail = "it failed: "

// An expectation is an assumption about the results of a phase's smokes.
type expectation struct {
	fails  float64 // share of smokes that say other than expected
	judged bool    // by the metrics that their simulated backend says
	text   string  // "" when the phase expects nothing, or no smoke is to run
}

// expectationOf is that of one phase of a plan. Nobody knows a program's metrics
// before it ran: a smoke is assumed to meet its expectations, or fails them as
// often as in the past or as stated.
func expectationOf(pp *planner.PhasePlan, in Input, places map[string]*described) expectation {
	g := pp.Smoke
	if g == nil || pp.Phase.Smoke == nil || len(pp.Phase.Smoke.Expect) == 0 || len(g.Run)+len(g.Waiting) == 0 {
		return expectation{}
	}
	if in.Unexpected != nil {
		return expectation{fails: *in.Unexpected, text: "smokes miss their expectations, as stated: " + percent(*in.Unexpected)}
	}
	if len(places[g.Place.Backend].says(pp.Phase.Name).Metrics) > 0 {
		return expectation{judged: true, text: "smokes print the metrics that backend." + g.Place.Backend + " states, and are judged by them"}
	}
	n, off := 0, 0
	for _, v := range in.State.Validations {
		j, err := addr.Parse(v.Address)
		if err != nil || j.Phase != pp.Phase.Name || strings.HasPrefix(v.Message, didFail) {
			continue
		}
		if n++; !v.Passed {
			off++
		}
	}
	if n < enoughRuns {
		return expectation{text: "smokes meet their expectations, as assumed"}
	}
	share := float64(off) / float64(n)
	return expectation{fails: share, text: fmt.Sprintf("smokes miss their expectations, as seen: %d of %d (%s)", off, n, percent(share))}
}

// unexpected is a plan and its campaign without the expectations of smokes that nobody can
// predict.
func unexpected(c *lang.Campaign, p *planner.Plan, book map[string]*assumed) (*lang.Campaign, *planner.Plan) {
	campaign, plan := *c, *p
	campaign.Phases, plan.Phases = slices.Clone(c.Phases), slices.Clone(p.Phases)
	for i, pp := range plan.Phases {
		if pp.Phase.Smoke == nil || len(pp.Phase.Smoke.Expect) == 0 {
			continue
		}
		if a := book[pp.Phase.Name]; a != nil && a.expects.judged {
			continue
		}
		phase, smoke, copied := *pp.Phase, *pp.Phase.Smoke, *pp
		smoke.Expect = nil
		phase.Smoke, copied.Phase = &smoke, &phase
		plan.Phases[i] = &copied
		for k := range campaign.Phases {
			if campaign.Phases[k] == pp.Phase {
				campaign.Phases[k] = &phase
			}
		}
	}
	return &campaign, &plan
}

// heldBySmoke are the phases that are held because their smoke failed.
func heldBySmoke(st *state.State) []string {
	var out []string
	latest := map[string]state.Validation{} // by address
	for _, v := range st.Validations {
		if old, ok := latest[v.Address]; !ok || v.At.After(old.At) {
			latest[v.Address] = v
		}
	}
	for _, v := range latest {
		if j, err := addr.Parse(v.Address); err == nil && !v.Passed && !slices.Contains(out, j.Phase) {
			out = append(out, j.Phase)
		}
	}
	slices.Sort(out)
	return out
}
