package planner

import (
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestNothingIsDestroyedByOldFacts: what a platform deletes with a machine, or
// keeps, may have changed since somebody wrote it down: a machine is given back
// and results are deleted where their backend was just asked.
func TestNothingIsDestroyedByOldFacts(t *testing.T) {
	// Requirement: FRS-02
	t.Parallel()
	const refusal = "Nothing is destroyed by facts that are old"
	old := func(c *lang.Campaign) { c.Backends[0].Verified, c.Backends[0].Implied = "2020-03", false }
	c := load(t, old, phaseSpec{name: "a", lr: "1"})
	c.Policy.StaleAfter = 1
	if b := c.Backends[0]; b.Address() != "local.local" {
		t.Fatalf("%s is the first backend", b.Address())
	}
	for name, x := range map[string]struct {
		backend, month string // of the machine
		refreshed      bool
		options        Options
		refused        string
	}{
		"a machine that was asked about":   {"vastai.cloud", "2020-03", true, Options{Destroy: true}, ""},
		"one that nobody asked about":      {"vastai.cloud", "2020-03", false, Options{Destroy: true}, "backend.vastai.cloud"},
		"facts without a month":            {"vastai.cloud", "", false, Options{Destroy: true}, ""},
		"released by a plan that goes on":  {"vastai.cloud", "2020-03", false, Options{}, "backend.vastai.cloud"},
		"results that were looked at":      {"", "", true, Options{Destroy: true, Outputs: true}, ""},
		"results at which nobody looked":   {"", "", false, Options{Destroy: true, Outputs: true}, "backend.local.local"},
		"results that stay where they lie": {"", "", false, Options{Destroy: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			st := applied(t, c, state.Completed)
			if x.backend != "" {
				st.Rentals = map[string]state.Rental{"r1": {ID: "r1", Backend: x.backend, Status: "idle", PerHour: "0.60"}}
			}
			in := input(c, st)
			in.Options, in.Observed.Refreshed = x.options, x.refreshed
			in.Pools = append(slices.Clone(in.Pools), offer.Pool{Backend: "vastai.cloud", Verified: x.month})
			_, diags := Make(in)
			var refused []string
			for _, d := range diags {
				if d.Summary == refusal && d.Severity == diag.Error {
					refused = append(refused, d.Address)
				}
			}
			if strings.Join(refused, " ") != x.refused {
				t.Errorf("refused of %q: %v", refused, diags)
			}
		})
	}
}
