package batch

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

// TestAnotherStateIsTold: jobs in the queue under this campaign's name that its
// state does not know are those of another clone, which writes the same files.
func TestAnotherStateIsTold(t *testing.T) {
	// Requirement: SUB-10
	t.Parallel()
	for name, c := range map[string]struct {
		comment, state string
		mine           bool
		told           string
	}{
		"a clone's":          {string(scheduler.LabelOf("test", "a")), "PENDING", false, "2 jobs of a campaign \"test\""},
		"a clone's, over":    {string(scheduler.LabelOf("test", "a")), "COMPLETED", false, ""},
		"another campaign's": {string(scheduler.LabelOf("testing", "a")), "PENDING", false, ""},
		"of no campaign":     {"(null)", "RUNNING", false, ""},
		"its own":            {string(scheduler.LabelOf("test", "a")), "PENDING", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			job := "a-0000-0"
			if c.mine {
				k.submit("batch0123456789", k.jobs("a", 2, nil)...)
				job = k.first()
			}
			for _, i := range []string{"0", "1"} {
				k.f.queued = append(k.f.queued, values{"%F": "1", "%K": i, "%T": c.state, "%r": "None", "%V": "1", "%j": job, "%k": c.comment})
			}
			if c.mine {
				k.found("a0")
			}
			var told []string
			for range 2 {
				list, err := k.s.Preflight(t.Context(), k.b.Name, []providers.Check{{Workdir: k.b.Workdir, Shape: offer.Shape{CPUs: 1}}})
				if err != nil {
					t.Fatal(err)
				}
				told = nil
				for _, f := range list {
					if strings.Contains(f.Summary, "Another state") && f.Warning {
						told = append(told, f.Detail)
					}
				}
			}
			if len(told) > 1 || (len(told) == 1) != (c.told != "") || c.told != "" && !strings.HasPrefix(told[0], c.told) {
				t.Errorf("told %q, want %q", told, c.told)
			}
			asked := 0
			for _, call := range k.f.calls {
				if strings.HasPrefix(call, "squeue") {
					asked++
				}
			}
			if c.mine {
				asked-- // a submission looks who holds what it submitted
			}
			if asked > 1 {
				t.Errorf("squeue was run %d times", asked)
			}
		})
	}
}
