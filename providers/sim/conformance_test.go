package sim_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/providertest"
	"github.com/muster-run/muster/providers/sim"
)

// applies are the promises that a backend which runs nothing can make: the
// others look at what commands did, or at files.
var applies = []string{
	"results come in the order of the jobs", "unknown tokens are absent",
	"a job that waits is cancelled and never runs", "cancelling the finished says so and changes nothing", "cancelling the unknown says so",
	"cancelling twice is no error", "outcomes come in the order of the tokens",
	"schema says what it is", "configuring again changes nothing that runs", "a backend that is not configured is an error",
	"pools belong to the backend and have words", "every shape gets a quote, what does not fit says why",
	"the log of an unknown job is not found", "a watch goes on from its cursor, nothing lost or doubled",
	"a watch that was cut off before its batch was taken tells it again", "a watch of handles tells of no others", "a watch ends with its context",
	"a queued job that is held waits until it is let go", "a held job is cancelled and never runs", "a stale fence neither holds nor lets go",
	"two backends of one provider do not see each other",
}

// TestConformance holds the provider to the suite on the clock of the machine.
func TestConformance(t *testing.T) {
	t.Parallel()
	skip := map[string]string{}
	for _, name := range providertest.Names() {
		if !slices.Contains(applies, name) {
			skip[name] = "it looks at what a command did, or at files, and nothing is run here"
		}
	}
	providertest.Run(t, providertest.Options{
		New: func(*testing.T) providers.Provider { return sim.New(clock.Wall) },
		Backend: func(*testing.T) providers.Backend {
			return providers.Backend{Config: json.RawMessage(`{"pool":[{"cpus":4,"slots":4}],"jobs":[{"runtime":0.05}]}`)}
		},
		Skip: skip,
	})
}
