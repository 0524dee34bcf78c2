package page

import (
	"testing"
	"time"

	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestBackendStatusOfAnAcceptedJob: a job that its scheduler does not have is not said
// to be queued there.
func TestBackendStatusOfAnAcceptedJob(t *testing.T) {
	t.Parallel()
	job := &state.Job{Address: "phase.a", Status: state.Queued, Attempts: []state.Attempt{{N: 1, Token: "11", Backend: "slurm.cl"}}}
	for stage, want := range map[offer.Stage]string{
		offer.Accepted: "not submitted yet to slurm.cl, p: qos testing lets you have 5 jobs submitted",
		offer.Released: "queued on slurm.cl, p: qos testing lets you have 5 jobs submitted",
		"":             "queued on slurm.cl, p: qos testing lets you have 5 jobs submitted",
	} {
		seen := observed.Refresh{Jobs: map[string]offer.Observation{"11": {Token: "11", Presence: offer.Found, Status: offer.Queued, Pool: "p", Stage: stage,
			Reason: "qos testing lets you have 5 jobs submitted"}}}
		if got := BackendStatus(seen, job, time.Time{}); got != want {
			t.Errorf("%q: %q, want %q", stage, got, want)
		}
	}
}
