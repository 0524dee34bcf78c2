package state_test

import (
	"testing"
	"time"

	"github.com/muster-run/muster/state"
)

// TestCostOfAMachine: by the meter of its provider, in whole units, else from its start.
func TestCostOfAMachine(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		r     state.Rental
		after time.Duration
		want  string // "" = not known
	}{
		"billed by its cloud":       {state.Rental{PerHour: "2", Began: at, Billed: "7"}, time.Hour, "7"},
		"from its start":            {state.Rental{PerHour: "2", Began: at}, 30 * time.Minute, "1"},
		"by whole hours":            {state.Rental{PerHour: "2", Began: at, Metered: at, Spent: "0", Unit: time.Hour}, 5 * time.Minute, "2"},
		"an hour to the second":     {state.Rental{PerHour: "2", Began: at, Metered: at, Spent: "0", Unit: time.Hour}, time.Hour, "2"},
		"in its second hour":        {state.Rental{PerHour: "2", Began: at, Metered: at, Spent: "0", Unit: time.Hour}, 61 * time.Minute, "4"},
		"runs again after a stop":   {state.Rental{PerHour: "2", Began: at.Add(-100 * time.Hour), Metered: at, Spent: "3.5", Unit: time.Hour}, time.Minute, "5.5"},
		"stopped, by its disk":      {state.Rental{PerHour: "0.1", Status: state.RentalStopped, Began: at.Add(-time.Hour), Metered: at, Spent: "2"}, 10 * time.Hour, "3"},
		"stopped, without a meter":  {state.Rental{PerHour: "0.1", Status: state.RentalStopped, Began: at}, time.Hour, ""},
		"released, without a bill":  {state.Rental{PerHour: "2", Status: state.RentalReleased, Began: at, Metered: at, Spent: "0"}, time.Hour, ""},
		"released, its end is told": {state.Rental{PerHour: "2", Status: state.RentalReleased, Began: at, Ended: at.Add(time.Hour)}, 9 * time.Hour, "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			usd, known := c.r.Cost(at.Add(c.after))
			if known != (c.want != "") || known && usd.String() != c.want {
				t.Errorf("%s, known %v; not %q", usd, known, c.want)
			}
		})
	}
}
