package sshx

import (
	"errors"
	"testing"
)

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

// OpenSSH closes the channel of a command that goes on when that has ended.
func TestAConnectionWhereEverySlotIsLeftIsGivenUp(t *testing.T) {
	s := newSlots()
	for i := range maxSessions {
		if err := s.take(t.Context(), nil); err != nil || !s.ask() {
			t.Fatal(i, err)
		}
		s.answered(true)
	}
	waits := make(chan error)
	go func() { waits <- s.take(t.Context(), nil) }()
	for range maxSessions {
		select {
		case err := <-waits:
			t.Fatalf("given up with sessions in use: %v", err)
		default:
			s.leave()
		}
	}
	if err := <-waits; !errors.Is(err, errStuffed) {
		t.Error(err)
	}
	if s.ask() {
		t.Error("a question over a connection that is given up")
	}
}
