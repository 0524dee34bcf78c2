package history

import (
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// TestTimes: queue, retry and run add up to the time from submission to end.
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
		"a clock that was set on since": {[]state.Attempt{{Queued: at(0), Started: at(9000), Ended: at(9001), Class: "killed"}, {Started: at(20), Ended: at(30)}},
			Times{Retry: 20 * time.Minute, Run: 10 * time.Minute}, true},
		"a clock that was set back since": {[]state.Attempt{{Queued: at(0), Started: at(-9000), Ended: at(-8999), Class: "killed"}, {Queued: at(12), Started: at(20), Ended: at(30)}},
			Times{Retry: 20 * time.Minute, Run: 10 * time.Minute}, true},
		"as the backend measured it": {[]state.Attempt{{Ended: at(3), Usage: &state.Usage{Elapsed: 60}}}, Times{Run: time.Minute}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := TimesOf(&lang.Phase{Name: "a"}, &state.Job{Attempts: c.attempts})
			if got != c.want || ok != c.ok {
				t.Errorf("%+v, %v", got, ok)
			}
		})
	}
}

// TestSegmentsAreNoRetries: a launch whose work the next one goes on with ran, and
// what it waits for its next turn is a wait; only what ran for nothing, and what
// passed until it ran again, is a retry.
func TestSegmentsAreNoRetries(t *testing.T) {
	at := func(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }
	launch := func(queued, started, ended int, class string) state.Attempt {
		return state.Attempt{Queued: at(queued), Started: at(started), Ended: at(ended), Class: class}
	}
	chained := &lang.Phase{Name: "a", Checkpoint: &lang.Checkpoint{}}
	for name, c := range map[string]struct {
		phase    *lang.Phase
		attempts []state.Attempt
		want     Times
	}{
		"three segments": {chained, []state.Attempt{launch(0, 10, 70, "walltime"), launch(70, 75, 135, "walltime"), launch(135, 140, 160, "")},
			Times{Queue: 20 * time.Minute, Run: 140 * time.Minute}},
		"no checkpoint: what ran is lost": {&lang.Phase{Name: "a"}, []state.Attempt{launch(0, 10, 70, "walltime"), launch(70, 75, 135, "")},
			Times{Queue: 10 * time.Minute, Retry: 65 * time.Minute, Run: time.Hour}},
		"one between that never started": {&lang.Phase{Name: "a"}, []state.Attempt{launch(0, 10, 70, "oom"), {Queued: at(71), Ended: at(72), Class: "transport"}, launch(73, 75, 135, "")},
			Times{Queue: 10 * time.Minute, Retry: 65 * time.Minute, Run: time.Hour}},
		"a node failed in the second": {chained, []state.Attempt{launch(0, 10, 70, "walltime"), launch(70, 75, 95, "node_failure"), launch(97, 100, 160, "")},
			Times{Queue: 15 * time.Minute, Retry: 25 * time.Minute, Run: 2 * time.Hour}},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := TimesOf(c.phase, &state.Job{Attempts: c.attempts})
			if !ok || got != c.want {
				t.Errorf("%+v, not %+v", got, c.want)
			}
			if worked := Worked(c.phase, &state.Job{Attempts: c.attempts}); worked != got.Run {
				t.Errorf("worked %s, and ran %s", worked, got.Run)
			}
			if last := c.attempts[len(c.attempts)-1]; got.Total() != last.Ended.Sub(at(0)) {
				t.Errorf("%v do not add up to the time from submission to end", got)
			}
		})
	}
}
