package sshx

import "testing"

// TestSilenceIsCountedByQuestions: who was stopped for an hour has heard nothing
// for an hour, and asks before it concludes.
func TestSilenceIsCountedByQuestions(t *testing.T) {
	v := silence{}
	for step, c := range []struct {
		heard int64
		over  bool
	}{{1, false}, {1, false}, {2, false}, {2, false}, {2, false}, {2, true}} {
		if got := v.over(c.heard, 3); got != c.over {
			t.Fatalf("look %d: %v", step, got)
		}
		v.asked++
	}
}
