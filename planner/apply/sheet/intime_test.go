package sheet

import (
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A job that takes no notice of being asked to end is over by its walltime.
func TestInTime(t *testing.T) {
	t.Parallel()
	for limit, grace := range map[time.Duration]time.Duration{
		time.Second: 125 * time.Millisecond, 4 * time.Minute: 30 * time.Second, 24 * time.Hour: 30 * time.Second, 0: 0,
	} {
		j := providers.Job{Shape: offer.Shape{Walltime: limit}}
		InTime(&j)
		if j.Grace != grace || limit > 0 && (j.Shape.Walltime+j.Grace >= limit || j.Shape.Walltime < limit*5/6) {
			t.Errorf("of %s: asked to end after %s, killed %s later", limit, j.Shape.Walltime, j.Grace)
		}
	}
}
