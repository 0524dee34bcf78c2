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
	}{
		"a rental": {Decision{Price: offer.Price{Known: true, USDPerHour: "0.35", USDPerGBMonth: "0.1", Granularity: time.Minute, Minimum: time.Hour}, Boot: 5 * time.Minute, Hold: time.Hour}, nil,
			Decision{Price: offer.Price{Known: true, USDPerHour: "0.35", USDPerGBMonth: "0.1", Granularity: time.Minute, Minimum: time.Hour}, Boot: 5 * time.Minute, Hold: time.Hour}, true},
		"whole nodes, billed while they wait": {Decision{Price: offer.Price{Known: true, SUPerNodeHour: "3", BillsWhileQueued: true}, WholeNode: true, Wait: time.Hour}, nil,
			Decision{Price: offer.Price{Known: true, SUPerNodeHour: "3", BillsWhileQueued: true}, WholeNode: true, Wait: time.Hour}, true},
		"billed for a wait of which nobody knew": {Decision{Price: offer.Price{SUPerNodeHour: "3", BillsWhileQueued: true}, Wait: -1, Boot: time.Minute}, nil,
			Decision{Price: offer.Price{SUPerNodeHour: "3", BillsWhileQueued: true}, Wait: -1, Boot: time.Minute}, true},
		"nothing was charged":          {Decision{Price: offer.Price{Known: true}}, state.Amounts{"cpu_hours": "1"}, Decision{Price: offer.Price{Known: true}}, true},
		"a price that was not known":   {Decision{}, state.Amounts{"cpu_hours": "1"}, dear, false},
		"a record from before of paid": {Decision{Price: offer.Price{Known: true}}, state.Amounts{"usd": "1"}, dear, false},
		"nothing is recorded":          {Decision{Price: offer.Price{Known: true}}, nil, dear, false},
	} {
		got, ok := dear.Charged(&state.Attempt{Rates: c.d.Rates(), Ceiling: c.ceiling})
		if diff := cmp.Diff(c.want, got); diff != "" || ok != c.ok {
			t.Errorf("%s: %t\n%s", name, ok, diff)
		}
	}
}
