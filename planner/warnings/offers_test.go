package warnings

import (
	"slices"
	"testing"

	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/providers/offer"
)

// TestOffers: a plan lists three machines with what it would cost on each and why, those of
// its own pool first, and alternatives of other pools after them.
// Requirement: DT-20, DT-21
func TestOffers(t *testing.T) {
	t.Parallel()
	pools := []offer.Pool{
		{Backend: "vastai.x", Name: "1x A100", Price: offer.Price{Known: true, USDPerHour: "0.90"}, Offers: []offer.Listing{{USDPerHour: "0.90", Text: "reliability 99.8%, the cheapest that fits"}, {USDPerHour: "1.90", Text: "z"}}},
		{Backend: "vastai.x", Name: "1x RTX 4090", Price: offer.Price{Known: true, USDPerHour: "0.40"}, Offers: []offer.Listing{{USDPerHour: "0.3441095890", Text: "reliability 99.4%, the cheapest that fits"}, {USDPerHour: "0.40", Text: "more reliable than the cheapest"}}},
		{Backend: "vastai.y", Name: "1x RTX 4090", Offers: []offer.Listing{{USDPerHour: "0.20", Text: "of a backend that nobody uses"}}},
		{Backend: "ssh.x", Name: "h"},
	}
	by := map[string][]forecast.CostLine{"vastai.x": {{Unit: "usd", Expected: forecast.Figure{Text: "4"}}}}
	again := "backend.vastai.x asks for the price again before it rents: a machine over a tenth dearer than the plan shows is not rented."
	for name, c := range map[string]struct {
		used [][2]string
		by   map[string][]forecast.CostLine
		want []string
	}{
		"priced": {[][2]string{{"ssh.x", "h"}, {"vastai.x", "1x RTX 4090"}}, by, []string{
			"offer 1: 1x RTX 4090, $0.3441/h (about $3.44 for this plan), reliability 99.4%, the cheapest that fits.",
			"offer 2: 1x RTX 4090, $0.40/h (about $4 for this plan), more reliable than the cheapest.",
			"offer 3: 1x A100, $0.90/h (about $9 for this plan, if jobs take as long there), reliability 99.8%, the cheapest that fits.", again}},
		"no forecast": {[][2]string{{"vastai.x", "1x A100"}}, nil, []string{
			"offer 1: 1x A100, $0.90/h, reliability 99.8%, the cheapest that fits.", "offer 2: 1x A100, $1.90/h, z.",
			"offer 3: 1x RTX 4090, $0.3441/h, reliability 99.4%, the cheapest that fits.", again}},
		"nothing is rented": {[][2]string{{"ssh.x", "h"}}, by, nil},
		"a pool that went":  {[][2]string{{"vastai.x", "gone"}}, by, nil},
	} {
		if got := Offers(c.used, pools, c.by); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%q\nnot\n%q", name, got, c.want)
		}
	}
}
