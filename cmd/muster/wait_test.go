package main

import (
	"testing"
	"time"
)

// TestWaitIsNotSilent: counts that do not change are printed within ten minutes, with
// the slowest reading.
func TestWaitIsNotSilent(t *testing.T) {
	t.Parallel()
	// Requirement: WCH-08
	said, last, lines := saidLine{}, time.Duration(0), 0
	for at := time.Duration(0); at < 3*time.Hour; at += slowestRead {
		if said.due("1 of 2 done", at) {
			last, lines = at, lines+1
		}
		if at-last > 10*time.Minute {
			t.Fatalf("silent from %s to %s", last, at)
		}
	}
	if lines > 20 {
		t.Errorf("%d lines in three hours", lines)
	}
	if !said.due("2 of 2 done", 3*time.Hour) {
		t.Error("a change is not printed")
	}
}
