package rental

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/providers/offer"
)

// A machine that stopped is billed for its disk, also while it is given back.
func TestRateOfAMachineThatStopped(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	ran, stopped := Session{From: at}, Session{From: at, To: at.Add(time.Hour)}
	for _, c := range []struct {
		step   Step
		run    Session
		status offer.RentalStatus
		rate   string
	}{
		{Ready, ran, offer.RentalRunning, "0.4"},
		{Parked, ran, offer.RentalRunning, "0.4"},
		{Parked, stopped, offer.RentalStopped, "0.01"},
		{Preempted, stopped, offer.RentalStopped, "0.01"},
		{Releasing, ran, offer.RentalDeleting, "0.4"},
		{Releasing, stopped, offer.RentalDeleting, "0.01"},
		{Gone, stopped, offer.RentalReleased, "0.4"},
	} {
		got := seen(Rental{ID: "1", Step: c.step, Runs: []Session{c.run}, Since: at, Offer: Offer{USDPerHour: decimal.RequireFromString("0.4"), StoppedUSDPerHour: decimal.RequireFromString("0.01")}}, time.Hour)
		if got.Status != c.status || got.Rate != c.rate {
			t.Errorf("%s, %+v: %s at $%s/h, and it is %s at $%s/h", c.step, c.run, got.Status, got.Rate, c.status, c.rate)
		}
	}
}

// A machine that was stopped and runs again is billed for each run by whole hours, and for its
// disk all the time.
func TestMeterOfAMachineThatStopped(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	hours := func(n float64) time.Time { return at.Add(time.Duration(n * float64(time.Hour))) }
	first, off := Session{From: at, To: hours(1.5)}, hours(9)
	for name, c := range map[string]struct {
		step  Step
		runs  []Session
		since time.Time
		spent string
		unit  time.Duration
	}{
		"runs":                    {Ready, []Session{{From: at}}, at, "0", time.Hour},
		"is stopped":              {Parked, []Session{first}, hours(1.5), "0.795", 0}, // 2 hours at 0.39, 1.5 at 0.01
		"runs again":              {Ready, []Session{first, {From: off}}, off, "0.87", time.Hour},
		"was not seen as stopped": {Preempted, []Session{{From: at}}, time.Time{}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Rental{ID: "1", Step: c.step, Runs: c.runs, Since: at, Offer: Offer{USDPerHour: decimal.RequireFromString("0.4"), StoppedUSDPerHour: decimal.RequireFromString("0.01")}}
			got := seen(r, time.Hour)
			if !got.Metered.Equal(c.since) || got.Spent != c.spent || got.Unit != c.unit {
				t.Errorf("metered since %v by %v, %q before", got.Metered, got.Unit, got.Spent)
			}
		})
	}
}
