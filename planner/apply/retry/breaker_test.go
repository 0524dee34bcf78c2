package retry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/failure/breaker"
)

// A warning says when nothing more is started.
func TestBreakerWarns(t *testing.T) {
	// Requirement: CB-09
	t.Parallel()
	var b Breaker
	policy := breaker.Policy{Share: 0.15}
	told := ""
	for i := range failure.ShareFrom {
		if i < 18 {
			b.Success(policy)
			continue
		}
		if _, warning := b.Failed(Failure{"a", breaker.Failure{Class: "nan"}}, policy); warning != "" {
			told = warning
		}
	}
	if told != "2 of 20 finished jobs failed with nan; at 15 % nothing more is started" {
		t.Errorf("%q", told)
	}
}

// TestBreakerLaunchedAgain: a step is a job and how a launch of it ended: "."
// well, "a" or "b" as signatures of failures that another launch follows, "A"
// for good.
func TestBreakerLaunchedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		class string
		steps string
		trip  bool
	}{
		"flaky side by side":             {"nan", "1a 2a 3a 4a 1a 2a 3a 4a", false},
		"one that only fails":            {"nan", "1a 2a 1a 2a 1a", true},
		"a success of another between":   {"nan", "1a 1a 2. 1a 1a", false},
		"another error between":          {"nan", "1a 1a 1b 1a", false},
		"one of three that gave up":      {"nan", "1a 1a 1A 2a 2a 2A", false},
		"three that gave up":             {"nan", "1a 2a 3a 1A 2A 3A", true},
		"preempted again and again":      {failure.Preempted, "1a 1a 1a 1a 1a", false},
		"node after node":                {failure.NodeFailure, "1a 1a 1a 1a 1a", false},
		"walltime, the checkpoint moves": {failure.Walltime, "1a 1a 1a 1a 1a", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b Breaker
			policy := breaker.Policy{SameError: 3}
			var trip *Trip
			steps := strings.Fields(c.steps)
			for i, step := range steps {
				if trip != nil {
					t.Fatalf("it opened at step %d: %s", i, trip.Reason)
				}
				f := Failure{step[:1], breaker.Failure{Class: c.class, Signature: strings.ToLower(step[1:]), Text: "nan"}}
				switch step[1] {
				case '.':
					trip, _ = b.Success(policy)
				case 'A':
					trip, _ = b.Failed(f, policy)
				default:
					trip = b.Again(f, policy)
				}
			}
			if got := trip != nil; got != c.trip || got && !strings.HasPrefix(trip.Reason, "the same error 3 times in a row") {
				t.Errorf("%+v", trip)
			}
		})
	}
}

func TestRateBoundsRepeatedLaunches(t *testing.T) {
	t.Parallel()
	var r Rate
	now := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	l := Launch{Phase: "a", Repeat: true}
	for n := range repeatRate {
		if until := r.Until(l, now); !until.IsZero() {
			t.Fatalf("launch %d waits until %s", n, until)
		}
		r.Count(l, now)
	}
	if until := r.Until(l, now); until != now.Add(rateWindow) {
		t.Errorf("one more may start at %s", until)
	}
	if until := r.Until(Launch{Phase: "b"}, now); !until.IsZero() {
		t.Error("another phase waits")
	}
	if until := r.Until(l, now.Add(rateWindow)); !until.IsZero() {
		t.Error(fmt.Sprint("after the window it waits until ", until))
	}
}
