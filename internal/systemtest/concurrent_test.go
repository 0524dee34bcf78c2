package systemtest

import (
	"slices"
	"strings"
	"testing"
)

// Of applies that run at once one drives; the others say who does, and exit 5.
func TestSystemTwoAppliesAtOnce(t *testing.T) {
	// Requirement: WAV-07
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
func TestSystemHoldFromASecondTerminal(t *testing.T) {
	w := newWorld(t, jobs(16, untilGo))
	d := w.start("apply", "-auto-approve")
	w.started(2)
	if out, code := w.run("hold"); code != 0 && code != 5 {
		t.Fatalf("hold: exit %d\n%s", code, out)
	}
	w.write("go", "")
	out, code := d.end()
	if code != 3 {
		t.Fatalf("exit %d, want 3: %s", code, out)
	}
	w.want(0, "", "resume")
	w.want(0, "16 of 16", "apply", "-auto-approve")
	w.ranOnce(16)
}

// A queue that stopped a phase goes on after resume, whether or not anything
// of the phase was left in it.
func TestSystemResumeReachesAnIdleQueue(t *testing.T) {
	w := newWorld(t, jobs(20, "test ${cell.i} -lt 9 -o -e mended || exit 1"))
	w.want(3, "same error 3 times in a row: unknown", "apply", "-auto-approve")
	w.want(3, "muster resume muster apply", "apply", "-auto-approve")
	w.write("mended", "")
	w.want(0, "Run `muster apply` to start", "resume")
	w.want(0, "20 of 20", "apply", "-auto-approve")
	w.want(0, "Nothing to do", "plan", "-detailed-exitcode")
}

func TestSystemHoldWithNothingLeftToStart(t *testing.T) {
	w := newWorld(t, jobs(4, untilGo))
	d := w.start("apply", "-auto-approve")
	w.started(4)
	w.want(0, "no job was waiting to start", "hold")
	w.write("go", "")
	d.end()
	w.want(0, "", "resume")
	w.write("campaign.muster.hcl", strings.Replace(w.campaign(), "range(4)", "range(8)", 1))
	w.want(0, "8 of 8", "apply", "-auto-approve")
	w.ranOnce(8)
}
