package jobspec

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

// A checkpoint's signal comes as long before the job is asked to end as the phase
// says; where there is no time for that, when it would have come without.
func TestInTimeSignals(t *testing.T) {
	t.Parallel()
	const limit = 64 * time.Second // asked to end after 54 s
	for grace, after := range map[time.Duration]time.Duration{
		10 * time.Second: 44 * time.Second, 53 * time.Second: time.Second, 54 * time.Second: 10 * time.Second, 60 * time.Second: 4 * time.Second,
	} {
		j := providers.Job{Shape: offer.Shape{Walltime: limit}, Checkpoint: providers.Checkpoint{Signal: "USR1", Grace: grace}}
		InTime(&j)
		if got := j.Shape.Walltime - j.Checkpoint.Grace; got != after {
			t.Errorf("grace %s: the signal comes after %s, want %s", grace, got, after)
		}
	}
	j := providers.Job{Shape: offer.Shape{Walltime: limit}, Checkpoint: providers.Checkpoint{Signal: "USR1", Grace: limit}}
	if InTime(&j); j.Checkpoint.Grace != limit {
		t.Errorf("a grace as long as the walltime is %s", j.Checkpoint.Grace)
	}
}
