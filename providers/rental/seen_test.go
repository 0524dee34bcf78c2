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
		got := seen(Rental{ID: "1", Step: c.step, Runs: []Session{c.run}, Since: at, Offer: Offer{USDPerHour: decimal.RequireFromString("0.4"), StoppedUSDPerHour: decimal.RequireFromString("0.01")}})
		if got.Status != c.status || got.Rate != c.rate {
			t.Errorf("%s, %+v: %s at $%s/h, and it is %s at $%s/h", c.step, c.run, got.Status, got.Rate, c.status, c.rate)
		}
	}
}
