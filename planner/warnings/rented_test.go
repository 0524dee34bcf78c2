package warnings

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestRentedMachinesAreTold: four platforms bill and delete stopped machines in four ways, and
// every plan says how, even if it starts nothing there.
func TestRentedMachinesAreTold(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	rentals := map[string]state.Rental{
		"auto":   {ID: "auto", Backend: "autodl.x", Status: "stopped", Since: now.Add(-13 * day), PerHour: "0"},
		"lanrui": {ID: "lanrui", Backend: "lanrui.x", Status: "stopped", Since: now.Add(-3 * day), PerHour: "0.01"},
		"pod":    {ID: "pod", Backend: "runpod.x", Status: "stopped", Since: now.Add(-day), PerHour: "0.0140"},
		"vast":   {ID: "vast", Backend: "vastai.x", Status: "stopped", Since: now.Add(-90 * day)},
		"gone":   {ID: "gone", Backend: "vastai.x", Status: "released", PerHour: "1"},
		"works":  {ID: "works", Backend: "autodl.x", Status: "running", PerHour: "0.5"},
	}
	pools := []offer.Pool{
		offer.Pool{Backend: "autodl.x", Name: "a", Clocks: []offer.Clock{{What: "it is released with its data", After: 15 * day}}},
		offer.Pool{Backend: "autodl.x", Name: "b", Clocks: []offer.Clock{{What: "it is released with its data", After: 15 * day}}},
		offer.Pool{Backend: "runpod.x", Name: "a", Clocks: []offer.Clock{{What: "its volume is billed twice the rate while it stands still"}}},
		offer.Pool{Backend: "lanrui.x", Clocks: []offer.Clock{{What: "the price rises", At: now.Add(200 * day)}}},
		offer.Pool{Backend: "vastai.x", Clocks: []offer.Clock{{What: "its disk is billed without end"}}},
	}
	list, due := Rented(rentals, nil, pools, now)
	if len(due) != 1 || !strings.HasPrefix(due[0], "auto on autodl.x") {
		t.Errorf("near: %q", due)
	}
	notes := strings.Join(list, "\n")
	for _, want := range []string{
		"auto on autodl.x has been stopped since " + now.Add(-13*day).Format("2006-01-02") + ": $0/h, $0 a day; it is released with its data in 2 days, on " + now.Add(2*day).Format("2006-01-02") + ".",
		"lanrui on lanrui.x has been stopped since " + now.Add(-3*day).Format("2006-01-02") + ": $0.01/h, $0.24 a day.",
		"pod on runpod.x has been stopped since " + now.Add(-day).Format("2006-01-02") + ": $0.0140/h, $0.34 a day; its volume is billed twice the rate while it stands still.",
		": billed at an unknown price; its disk is billed without end.",
		"works on autodl.x is running: $0.50/h, $12 a day.",
		"5 machines are rented, for $12.58 a day in all, and the cost of 1 of them is unknown.",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in\n%s", want, notes)
		}
	}
	if strings.Contains(notes, "gone") {
		t.Errorf("a released one is told:\n%s", notes)
	}
}

// TestTimeToADateIsRounded: it is a word of warning and no stopwatch, and plans
// made one after the other say the same.
func TestTimeToADateIsRounded(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		8*24*time.Hour + 7*time.Hour:             "8 days",
		34*time.Hour + 24*time.Minute + 18e9:     "34h",
		time.Hour + 59*time.Minute + 59e9:        "1h",
		42*time.Minute + 3*time.Second + 12345:   "42m",
		3*time.Second + 500*time.Millisecond + 1: "1m",
	} {
		if got := days(d); got != want {
			t.Errorf("%s: %q, not %q", d, got, want)
		}
	}
}
