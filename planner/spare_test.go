package planner

import (
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
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

// TestNothingStartsNothingIsApproved: a plan that only gives back grants no money, whatever
// the budget leaves.
func TestNothingStartsNothingIsApproved(t *testing.T) {
	t.Parallel()
	budget := func(c *lang.Campaign) {
		c.Budgets = []lang.Budget{{Name: "money", Limits: map[string]string{"usd": "2"}}}
	}
	in := input(load(t, budget, phaseSpec{name: "a", lr: "1", wall: "1h"}), nil)
	if p := planned(t, in); p.Ceiling["usd"] == "" {
		t.Errorf("a plan with work has ceiling %v", p.Ceiling)
	}
	in.Options.Destroy = true
	if p := planned(t, in); len(p.Ceiling) > 0 {
		t.Errorf("a destroy is approved for %v", p.Ceiling)
	}
}
