package apply

import (
	"testing"

	"github.com/muster-run/muster/providers/offer"
)

// TestEnding: the end of a launch that another one follows names its class, and where its machine
// was lost also why and the work that is lost with it.
func TestEnding(t *testing.T) {
	t.Parallel()
	f := &attempt{}
	for want, o := range map[string]offer.Observation{
		"failed (nan)":       {Class: "nan", Reason: "ERROR: NaN in energy"},
		"failed (preempted)": {Class: "preempted"},
		"failed (preempted): its machine 7 was outbid; up to 12s of work are lost": {Class: "preempted", Reason: "its machine 7 was outbid; up to 12s of work are lost"},
		"failed (node_failure): n3 does not answer":                                {Class: "node_failure", Reason: "n3 does not answer."},
	} {
		if got := f.ending(&o); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
