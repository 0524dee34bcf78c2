package systemtest

import (
	"slices"
	"strings"
	"testing"
)

// Of applies that run at once one drives; the others say who does, and exit 5.
func TestTwoAppliesAtOnce(t *testing.T) {
	w := newWorld(t, jobs(12, "sleep 0.3"))
	a, b := w.start("apply", "-auto-approve"), w.start("apply", "-auto-approve")
	outA, codeA := a.end()
	outB, codeB := b.end()
	codes := []int{codeA, codeB}
	slices.Sort(codes)
	if codes[0] != 0 || codes[1] != 5 && codes[1] != 0 || !strings.Contains(outA+outB, "ock") && codes[1] == 5 {
		t.Errorf("exits %v\n%s\n%s", codes, outA, outB)
	}
	w.ranOnce(12)
}

// While an apply drives, a hold from a second terminal stops what has not
// started, and resume lets it go on.
func TestHoldFromASecondTerminal(t *testing.T) {
	w := newWorld(t, jobs(16, "sleep 0.4"))
	d := w.start("apply", "-auto-approve")
	w.started(2)
	if out, code := w.run("hold"); code != 0 && code != 5 {
		t.Fatalf("hold: exit %d\n%s", code, out)
	}
	out, code := d.end()
	if code != 3 {
		t.Fatalf("exit %d, want 3: %s", code, out)
	}
	w.want(0, "", "resume")
	w.want(0, "16 of 16", "apply", "-auto-approve")
	w.ranOnce(16)
}
