package state

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// TestAllIsWhatJobsHold: from a snapshot, and after each kind of event that
// takes a record away, adds one or puts another in its place.
func TestAllIsWhatJobsHold(t *testing.T) {
	at := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	for name, e := range map[string]Event{
		"none": nil,
		"add":  Intended{Job: Job{Address: "phase.c"}, Attempt: Attempt{N: 1, Token: "c"}, At: at},
		"put":  Intended{Job: Job{Address: "phase.a", Result: "new"}, Attempt: Attempt{N: 2, Token: "a2"}, At: at},
		"take": Forgot{Address: "phase.a", Hard: true, At: at},
		"move": MovedJob{From: "phase.a", To: "phase.d", At: at},
	} {
		t.Run(name, func(t *testing.T) {
			s := New("test")
			if bad := s.Fill([][]Job{{{Address: "phase.a", Status: Completed}}, {{Address: "phase.b", Status: Completed}}}); bad != "" {
				t.Fatalf("out of order: %q", bad)
			}
			if e != nil {
				s.Apply(e)
			}
			got := map[string]*Job{}
			for key, j := range s.All() {
				if got[key] != nil {
					t.Errorf("%s came twice", key)
				}
				got[key] = j
			}
			if !maps.Equal(got, s.Jobs) {
				t.Errorf("All yields %v, Jobs has %v", slices.Sorted(maps.Keys(got)), s.Addresses())
			}
		})
	}
}

func TestFillRefusesDisorder(t *testing.T) {
	for name, rows := range map[string][][]Job{
		"twice":     {{{Address: "phase.a"}, {Address: "phase.a"}}},
		"backwards": {{{Address: "phase.b"}}, {{Address: "phase.a"}}},
	} {
		if New("test").Fill(rows) == "" {
			t.Errorf("%s: taken", name)
		}
	}
}
