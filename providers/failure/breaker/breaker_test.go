package breaker

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/providers/failure"
)

// The rule is that of slurm/node, whose test has the same table.
func TestTrips(t *testing.T) {
	t.Parallel()
	policy := Policy{SameError: 3, Share: 0.15}
	missing := 127
	for name, c := range map[string]struct {
		policy Policy
		jobs   string // . is a success, P a preemption, other letters are signatures of failures
		exit   *int
		trip   string
		warn   bool
	}{
		"the same error three times in a row": {policy, "..aaa", nil, "the same error 3 times in a row", false},
		"a success in between":                {policy, "aa.aa", nil, "", false},
		"different errors":                    {policy, "ababab", nil, "", false},
		"off":                                 {Policy{}, "aaaaaaaaaaaaaaaaaaaaaaaaaa", nil, "", false},
		"preempted, one and all":              {policy, "PPPPPPPPPPPPPPPPPPPPPPPPPP", nil, "", false},
		"a preemption in between":             {policy, "aaPa", nil, "the same error 3 times in a row", false},
		"a program that is not there":         {policy, "aa", &missing, "everything crashes alike", false},
		"one in ten warns":                    {policy, "a.........b.........", nil, "", true},
		"the twentieth is a success":          {policy, "a..b....c....d......", nil, "4 of 20 finished jobs failed", false},
		"nineteen are too few":                {policy, "a..b....c....d.....", nil, "", false},
		"off, and the twentieth a success":    {Policy{SameError: 3}, "a..b....c....d......", nil, "", false},
		"one in ten, twenty finished":         {policy, "a.........b........b", nil, "3 of 20 finished jobs failed", false},
		"two of twenty, at the end":           {policy, "a..................b", nil, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b Count
			trip, warned := "", false
			for _, j := range c.jobs {
				var at *Trip
				var warning string
				if j == '.' {
					at, warning = b.Well(c.policy)
				} else {
					class := "nan"
					if j == 'P' {
						class = failure.Preempted
					}
					at, warning = b.Failed(c.policy, Failure{Class: class, Signature: string(j), Exit: c.exit, Text: "nan"})
				}
				warned = warned || warning != ""
				if at != nil && trip == "" {
					trip = at.Reason
				}
			}
			if !strings.HasPrefix(trip, c.trip) || (trip == "") != (c.trip == "") || warned != c.warn {
				t.Errorf("trip %q, warned %v; want %q, %v", trip, warned, c.trip, c.warn)
			}
		})
	}
}
