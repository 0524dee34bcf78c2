package queue

import (
	"testing"
	"time"

	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/host/process"
)

// TestNobodyWaitsForTheUnkillable: a process that KILL does not end, as it waits
// for a file server, does not keep its queue for ever.
func TestNobodyWaitsForTheUnkillable(t *testing.T) {
	t.Parallel()
	now := monotonic.Uptime()
	for name, c := range map[string]struct {
		ended bool
		told  time.Duration
		want  bool
	}{
		"just told":              {false, now, true},
		"told long ago":          {false, now - time.Hour, false},
		"beside what just ended": {true, now - time.Hour, true},
	} {
		s := sweeper{told: map[process.ID]time.Duration{{PID: 1 << 30}: c.told}}
		if c.ended {
			s.end("t", 1)
		}
		if got := s.pending(); got != c.want {
			t.Errorf("%s: pending is %v", name, got)
		}
	}
}
