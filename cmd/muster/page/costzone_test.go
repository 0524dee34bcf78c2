package page

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// TestCostInOneTimeZone: days and approvals are in one time zone, which is said.
func TestCostInOneTimeZone(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("HST", -10*3600)
	approved := time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC) // the evening before, there
	st := &state.State{
		Ledger: []state.Entry{
			{Address: "phase.a", Phase: "a", Backend: "sim.s", At: approved.Add(time.Hour), Spent: state.TextsOf(state.Amounts{"usd": "1"})},
			{Address: "phase.a", Phase: "a", Backend: "sim.s", At: approved.Add(3 * time.Hour), Spent: state.TextsOf(state.Amounts{"usd": "2"})},
		},
		Approvals: []state.Approval{{Plan: "p", Who: "ada", Begun: approved, Ceiling: state.Amounts{"usd": "3"}}},
	}
	r := CostOf(&lang.Campaign{Name: "c"}, st, approved.Add(time.Hour).In(zone))
	if r.ByDay["2026-11-01"]["usd"] != "1" || r.ByDay["2026-11-02"]["usd"] != "2" || r.TimeZone != "HST (UTC-10:00)" {
		t.Errorf("%v, %s", r.ByDay, r.TimeZone)
	}
	for _, want := range []string{"by day, HST (UTC-10:00)", "Approved by ada on 2026-11-01 22:00 HST"} {
		if text := r.Text(100, 0); !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
