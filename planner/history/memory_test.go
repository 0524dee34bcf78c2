package history

import (
	"testing"
	"time"

	"github.com/muster-run/muster/state"
)

// TestTooShort: memory is unknown because a launch was too short where all else of
// it was measured and it ended at once.
func TestTooShort(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		usage *state.Usage
		ran   time.Duration
		want  bool
	}{
		"of a moment":              {&state.Usage{CPU: 0.01, MaxRSS: -1}, 50 * time.Millisecond, true},
		"of a moment, measured":    {&state.Usage{CPU: 0.01, MaxRSS: 34 << 20}, 50 * time.Millisecond, false},
		"of an hour":               {&state.Usage{CPU: 3600, MaxRSS: -1}, time.Hour, false},
		"nothing was measured":     {&state.Usage{CPU: -1, MaxRSS: -1}, time.Second, false},
		"its backend tells no use": {nil, time.Second, false},
	} {
		l := Attempt{At: &state.Attempt{Started: began, Ended: began.Add(c.ran), Usage: c.usage}}
		if got := l.TooShort(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
