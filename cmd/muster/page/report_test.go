package page

import (
	"testing"
	"time"

	"github.com/muster-run/muster/cmd/muster/chosen"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestASegmentIsNoRetry: a report counts as retried and failed what came to
// nothing, and not the segments of a chain, whose time is the job's: also where a
// launch between failed, for the checkpoint of the one before is still there.
func TestASegmentIsNoRetry(t *testing.T) {
	const src = `
campaign "test" {}
phase "train" {
  place { candidates = [backend.local.local] }
  checkpoint { path = "ck" }
  job { command = "train" }
}`
	c, diags := lang.LoadFiles(map[string][]byte{"c.muster.hcl": []byte(src)}, lang.LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	began := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	launch := func(hour int, class string) state.Attempt {
		at := began.Add(time.Duration(hour) * time.Hour)
		return state.Attempt{Queued: at, Started: at, Ended: at.Add(time.Hour), Class: class}
	}
	for _, v := range []struct {
		name            string
		launches        []state.Attempt
		retried, failed int
		hours           float64
	}{
		{"segments", []state.Attempt{launch(0, "walltime"), launch(1, "walltime"), launch(2, "")}, 0, 0, 3},
		{"a segment and a failure", []state.Attempt{launch(0, "walltime"), launch(1, "node_failure"), launch(2, "")}, 1, 1, 2},
	} {
		st := state.New("test")
		address := c.Phases[0].Address(0)
		st.Jobs[address] = &state.Job{Address: address, Phase: "train", Status: state.Completed, Attempts: v.launches}
		r := ReportOf(c, st, chosen.Jobs{})
		if got := r.Phases[0].Retried; got != v.retried {
			t.Errorf("%s: %d retried", v.name, got)
		}
		if j := r.Jobs[0]; j.Attempts != 3 || len(j.Failures) != v.failed || j.Seconds != v.hours*3600 {
			t.Errorf("%s: %d attempts, failures %v, %v s", v.name, j.Attempts, j.Failures, j.Seconds)
		}
	}
}
