package evidence

import (
	"testing"
	"time"

	"github.com/muster-run/muster/state"
)

// TestTimes: queue, retry and run add up to the time from hand-over to end.
func TestTimes(t *testing.T) {
	at := func(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }
	once := state.Attempt{Queued: at(0), Started: at(30), Ended: at(90)}
	for name, c := range map[string]struct {
		attempts []state.Attempt
		want     Times
		ok       bool
	}{
		"one launch":        {[]state.Attempt{once}, Times{Queue: 30 * time.Minute, Run: time.Hour}, true},
		"never handed over": {nil, Times{}, false},
		"still running":     {[]state.Attempt{{Queued: at(0), Started: at(1)}}, Times{}, false},
		"a second, after a delay and a wait": {[]state.Attempt{once, {Queued: at(92), Started: at(100), Ended: at(110)}},
			Times{Queue: 30 * time.Minute, Retry: 70 * time.Minute, Run: 10 * time.Minute}, true},
		"started before it was said to be queued": {[]state.Attempt{{Queued: at(2), Started: at(1), Ended: at(3)}}, Times{Run: 2 * time.Minute}, true},
		"as the backend measured it":              {[]state.Attempt{{Ended: at(3), Usage: &state.Usage{Elapsed: 60}}}, Times{Run: time.Minute}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := TimesOf(&state.Job{Attempts: c.attempts})
			if got != c.want || ok != c.ok {
				t.Errorf("%+v, %v", got, ok)
			}
		})
	}
}
