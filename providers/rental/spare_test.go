package rental

import (
	"testing"
	"time"
)

// Where hours are billed that began, each machine that is given back is billed whole hours.
func TestSpareCountsEachBill(t *testing.T) {
	t.Parallel()
	for granularity, want := range map[time.Duration]time.Duration{0: 99 * time.Minute, time.Minute: 99 * time.Minute, time.Hour: 153 * time.Minute} {
		if got := tried(15*time.Minute, granularity); got != want {
			t.Errorf("billed by %s: %s, not %s", granularity, got, want)
		}
	}
}
