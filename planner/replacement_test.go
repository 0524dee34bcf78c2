package planner

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestAnotherOfferForAMachineThatWasTakenAway: a plan has a row for a spot machine that was
// taken away from its jobs, with the best other offer and what the old disk costs.
func TestAnotherOfferForAMachineThatWasTakenAway(t *testing.T) {
	// Requirement: SPT-07
	t.Parallel()
	const why = "its machine was taken away: stopped, or outbid; another machine is rented by the next `muster apply`; its disk costs $0.0041/h until it is released"
	c := load(t, nil, phaseSpec{name: "a", lr: "1"})
	pools := []offer.Pool{
		{Backend: "vastai.other", Name: "x", Offers: []offer.Listing{{USDPerHour: "0.01", Text: "of another backend"}}},
		{Backend: "vastai.cloud", Name: "1x A100", Offers: []offer.Listing{{USDPerHour: "0.90", Text: "dear"}}},
		{Backend: "vastai.cloud", Name: "1x RTX 4090", Offers: []offer.Listing{{USDPerHour: "0.31", Text: "reliability 99.0%"}}},
	}
	for name, x := range map[string]struct {
		cause   offer.Cause
		status  state.RentalStatus
		pools   []offer.Pool
		options Options
		want    string
	}{
		"taken away":        {offer.MachineAway, state.RentalStopped, pools, Options{}, "2 jobs on it: " + why + "; the best offer now is 1x RTX 4090 at $0.31/h, reliability 99.0%"},
		"nothing is there":  {offer.MachineAway, state.RentalStopped, pools[:1], Options{}, "2 jobs on it: " + why + "; nothing that fits is offered now"},
		"running":           {"", state.RentalRunning, pools, Options{}, ""},
		"gone":              {offer.MachineAway, state.RentalReleased, pools, Options{}, ""},
		"a plan to destroy": {offer.MachineAway, state.RentalStopped, pools, Options{Destroy: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(c, &state.State{Rentals: map[string]state.Rental{"91": {ID: "91", Backend: "vastai.cloud", Status: x.status}}})
			in.Pools, in.Options = append(in.Pools, x.pools...), x.options
			o := offer.Observation{Status: offer.Running, Reason: why, Cause: x.cause, Rental: &offer.Rental{ID: "91", Rate: "0.0041"}}
			in.Observed.Jobs = map[string]offer.Observation{"t1": o, "t2": o}
			p, _ := Make(in)
			got := ""
			for _, r := range p.Loose {
				if r.Kind == Move && r.Address == "91" && r.PerHour == "0.0041" && r.Backend == "vastai.cloud" {
					got = r.Detail.Text
				}
			}
			if got != x.want || p.Counts.Move != 0 || x.want != "" && strings.Contains(got, "another backend") {
				t.Errorf("%q, not %q; %+v", got, x.want, p.Counts)
			}
		})
	}
}
