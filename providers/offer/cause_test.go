package offer

import "testing"

// TestCause: muster decides by the code; where there is none, as in a spool of an
// earlier version, by the text.
func TestCause(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o                Observation
		givenUp, stopped bool
		why              string
	}{
		"given up":                          {o: Observation{Status: Cancelled, Cause: Blocked, Reason: "behind phase.a"}, givenUp: true},
		"given up, earlier version":         {o: Observation{Status: Cancelled, Reason: "blocked"}, givenUp: true},
		"cancelled":                         {o: Observation{Status: Cancelled, Reason: "by ada"}},
		"another cause, same text":          {o: Observation{Status: Cancelled, Cause: JobHeld, Reason: "blocked"}},
		"waits, same text":                  {o: Observation{Status: Queued, Reason: "blocked"}},
		"phase stopped":                     {o: Observation{Status: Failed, Cause: PhaseStopped, Reason: "stopped: exit 1 three times"}, stopped: true, why: "exit 1 three times"},
		"phase stopped, other words":        {o: Observation{Status: Failed, Cause: PhaseStopped, Reason: "exit 1"}, stopped: true, why: "exit 1"},
		"phase stopped, earlier version":    {o: Observation{Status: Failed, Reason: "stopped: exit 1"}, stopped: true, why: "exit 1"},
		"failed":                            {o: Observation{Status: Failed, Reason: "exit 1"}},
		"another cause, begins like a stop": {o: Observation{Status: Failed, Cause: JobHeld, Reason: "stopped: exit 1"}},
	} {
		if got := c.o.GivenUp(); got != c.givenUp {
			t.Errorf("%s: given up %t", name, got)
		}
		why, ok := c.o.StoppedBy()
		if ok != c.stopped || ok && why != c.why {
			t.Errorf("%s: stopped %t, %q", name, ok, why)
		}
	}
}
