package warnings

import (
	"slices"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// TestCapsOverHosts: a phase's limit counts once over all hosts, and a limit over
// hosts with a queue each waits for muster, for no queue knows of another.
func TestCapsOverHosts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hosts                    []string
		phase, campaign, backend int
		want                     []string
	}{
		"one queue keeps all":                 {[]string{""}, 3, 4, 4, nil},
		"a phase over two hosts":              {[]string{"h1", "h2"}, 3, 0, 0, []string{"max_parallel = 3 of phase.a is reached"}},
		"a phase's limit is below the others": {[]string{"h1", "h2"}, 3, 4, 4, []string{"max_parallel = 3 of phase.a is reached"}},
		"a campaign over two hosts":           {[]string{"h1", "h2"}, 0, 4, 0, []string{"max_parallel = 4 of the campaign is reached"}},
		"a backend of two hosts":              {[]string{"h1", "h2"}, 0, 0, 4, []string{"max_parallel = 4 of backend.ssh.lab is reached"}},
		"room on both":                        {[]string{"h1", "h2"}, 0, 6, 6, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := Work{Phase: &lang.Phase{Name: "a", MaxParallel: c.phase}, Starting: map[int]int{}}
			for i, host := range c.hosts {
				w.Placements = append(w.Placements, place.Decision{Backend: "ssh.lab", Pool: host})
				w.Starting[i] = 6 / len(c.hosts)
			}
			o := Off{Can: map[string]offer.Capabilities{"ssh": {HostQueue: true}}, MaxParallel: c.campaign,
				Backends: []*lang.Backend{{Type: "ssh", Name: "lab", MaxParallel: c.backend}}}
			if got := o.capped([]Work{w}); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
