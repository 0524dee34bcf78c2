package place

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestRatesAreRecorded: what a launch is charged by is read back as it was,
// whatever its place asks by then.
func TestRatesAreRecorded(t *testing.T) {
	t.Parallel()
	dear := Decision{Price: offer.Price{Known: true, USDPerHour: "99"}, Boot: time.Hour}
	for name, c := range map[string]struct {
		d       Decision
		ceiling state.Amounts
		want    Decision
		ok      bool
		before  bool // an older muster wrote the record, which noted nothing if nothing was charged
	}{
		"a rental": {Decision{Price: offer.Price{Known: true, USDPerHour: "0.35", USDPerGBMonth: "0.1", Granularity: time.Minute, Minimum: time.Hour}, Boot: 5 * time.Minute, Hold: time.Hour}, nil,
			Decision{Price: offer.Price{Known: true, USDPerHour: "0.35", USDPerGBMonth: "0.1", Granularity: time.Minute, Minimum: time.Hour}, Boot: 5 * time.Minute, Hold: time.Hour}, true, false},
		"whole nodes, billed while they wait": {Decision{Price: offer.Price{Known: true, SUPerNodeHour: "3", BillsWhileQueued: true}, WholeNode: true, Wait: time.Hour}, nil,
			Decision{Price: offer.Price{Known: true, SUPerNodeHour: "3", BillsWhileQueued: true}, WholeNode: true, Wait: time.Hour}, true, false},
		"billed for a wait of which nobody knew": {Decision{Price: offer.Price{SUPerNodeHour: "3", BillsWhileQueued: true}, Wait: -1, Boot: time.Minute}, nil,
			Decision{Price: offer.Price{SUPerNodeHour: "3", BillsWhileQueued: true}, Wait: -1, Boot: time.Minute}, true, false},
		"a partition without a rate": {Decision{Price: offer.Price{Known: true, USDPerHour: "1", UnknownSU: true}}, nil,
			Decision{Price: offer.Price{Known: true, USDPerHour: "1"}, Boot: 0}, true, false}, // as its place is charged now: dear has none
		"hours alone, rounded":            {Decision{Price: offer.Price{Known: true, Granularity: time.Hour, Minimum: 2 * time.Hour}}, nil, Decision{Price: offer.Price{Known: true, Granularity: time.Hour, Minimum: 2 * time.Hour}}, true, false},
		"given more than was asked for":   {Decision{Price: offer.Price{Known: true, CPUs: 64, GPUs: 4}}, nil, Decision{Price: offer.Price{Known: true, CPUs: 64, GPUs: 4}}, true, false},
		"nothing was charged":             {Decision{Price: offer.Price{Known: true}}, state.Amounts{"cpu_hours": "1"}, Decision{Price: offer.Price{Known: true}}, true, false},
		"nothing was charged, and before": {Decision{Price: offer.Price{Known: true}}, state.Amounts{"cpu_hours": "1"}, Decision{Price: offer.Price{Known: true}}, true, true},
		"a price that was not known":      {Decision{}, state.Amounts{"cpu_hours": "1"}, dear, false, false},
		"a record from before of paid":    {Decision{Price: offer.Price{Known: true}}, state.Amounts{"usd": "1"}, dear, false, true},
		"nothing is recorded":             {Decision{Price: offer.Price{Known: true}}, nil, dear, false, true},
	} {
		recorded := c.d.Rates(c.d.Shape)
		if c.before {
			recorded = nil
		}
		got, ok := dear.Charged(&state.Attempt{Rates: recorded, Ceiling: c.ceiling})
		if diff := cmp.Diff(c.want, got); diff != "" || ok != c.ok {
			t.Errorf("%s: %t\n%s", name, ok, diff)
		}
	}
}

// TestShapesAreRecorded: what a launch asked for is read back, whatever its
// phase asks for by then.
func TestShapesAreRecorded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ asked, want offer.Shape }{
		{offer.Shape{}, offer.Shape{CPUs: 1}},
		{offer.Shape{CPUs: 8, GPUs: 4, Nodes: 2, Disk: 7e9, Memory: 1e9, Walltime: 90 * time.Minute}, offer.Shape{CPUs: 8, GPUs: 4, Nodes: 2, Disk: 7e9, Walltime: 90 * time.Minute}},
	} {
		for _, price := range []offer.Price{{Known: true}, {}, {Known: true, USDPerHour: "1"}} {
			got, ok := Launched(&state.Attempt{Rates: Decision{Price: price}.Rates(c.asked)})
			if diff := cmp.Diff(c.want, got); diff != "" || !ok {
				t.Errorf("%t\n%s", ok, diff)
			}
		}
	}
	if _, ok := Launched(&state.Attempt{Rates: map[string]string{"usd_per_hour": "1"}}); ok {
		t.Error("a record of before says how large its launch was")
	}
}
