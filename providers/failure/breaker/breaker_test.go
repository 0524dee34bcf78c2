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
	of40 := Policy{SameError: 3, Share: 0.15, Jobs: 40}
	missing := 127
	for name, c := range map[string]struct {
		policy Policy
		jobs   string // . is a success, P a preemption, N a node that failed, M a GPU that was too small, other letters are signatures of failures
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
		"a program that is not there":         {policy, "aa", &missing, "all jobs crash with the same error", false},
		"one in ten warns":                    {policy, "a.........b.........", nil, "", true},
		"the twentieth is a success":          {policy, "a..b....c....d......", nil, "4 of 20 finished jobs failed", false},
		"nineteen are too few":                {policy, "a..b....c....d.....", nil, "", false},
		"off, and the twentieth a success":    {Policy{SameError: 3}, "a..b....c....d......", nil, "", false},
		"one in ten, twenty finished":         {policy, "a.........b........b", nil, "3 of 20 finished jobs failed", false},
		"two of twenty, at the end":           {policy, "a..................b", nil, "", true},
		"nodes that fail, one and all":        {policy, "NNNNNNNNNNNNNNNNNNNNNNNNNN", nil, "", false},
		"a corner that runs out of memory":    {of40, "MMM.....................", nil, "", false},
		"three of them apart":                 {of40, ".....M......M......M", nil, "3 of 20 finished jobs failed with oom_gpu", false},
		"a corner, of a phase not told":       {policy, "MMM.................", nil, "3 of 20 finished jobs failed with oom_gpu", false},
		"more than a corner":                  {of40, "MMMMMM..............", nil, "6 of 20 finished jobs failed with oom_gpu", false},
		"a corner of a large phase":           {Policy{Share: 0.15, Jobs: 9000}, strings.Repeat("M", 19) + ".", nil, "", false},
		"too many of a large phase":           {Policy{Share: 0.15, Jobs: 9000}, strings.Repeat("M.M..", 20), nil, "20 of 48 finished jobs failed with oom_gpu", false},
		"memory between other errors":         {policy, "aMaMa", nil, "the same error 3 times in a row", false},
		"memory, one and all":                 {of40, "MMMMMMMMMMMMMMMMMMMM", nil, "20 of 20 finished jobs failed", false},
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
					switch j {
					case 'P':
						class = failure.Preempted
					case 'N':
						class = failure.NodeFailure
					case 'M':
						class = failure.OOMGPU
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
