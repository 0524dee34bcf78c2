package planner

import (
	"testing"
	"time"

	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/place"
)

// TestApprovalCoversALaunchWithItsSpareTime: what a plan is approved for covers what is set
// aside for a launch, machines that boot slowly included; else nothing would start.
func TestApprovalCoversALaunchWithItsSpareTime(t *testing.T) {
	t.Parallel()
	in := input(load(t, nil, phaseSpec{name: "a", lr: "1", wall: "1h"}), nil)
	for i := range in.Pools {
		in.Pools[i].Price.Known, in.Pools[i].Price.USDPerHour, in.Pools[i].Price.Spare = true, "2", 30*time.Minute
		in.Pools[i].Price.USDPerHourAtMost = "3"
	}
	for i := range in.Quotes {
		in.Quotes[i].Quote.Price = in.Pools[0].Price
	}
	p, diags := Make(in)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	d := p.Phases[0].Decision(0)
	most, _ := place.AtMost(d.Shape, d.Price, d.Around(), d.Hold)
	if d.Price.Spare == 0 || place.Dearest(d.Price) != "3" || !most[place.USD].IsPositive() || amount.Of(p.Ceiling[place.USD]).LessThan(most[place.USD]) {
		t.Errorf("$%s is approved, and $%s is set aside for one launch (%+v)", p.Ceiling[place.USD], most[place.USD], d.Price)
	}
}
