package sshx

import "testing"

func TestAServerThatGrantsSessionsAllowsThem(t *testing.T) {
	var i idleness
	for granted := range 5 * idleRefusals {
		if i.refused(0, granted) {
			t.Fatalf("given up after %d sessions of others, each ended when it looked", granted)
		}
	}
	for n := 1; ; n++ {
		none := i.refused(0, 5*idleRefusals-1)
		if none != (n >= idleRefusals) {
			t.Fatalf("%d refusals with no session granted: allows none is %v", n, none)
		}
		if none {
			break
		}
	}
	if i.refused(1, 5*idleRefusals-1) {
		t.Error("a session is open, and it allows none")
	}
}
