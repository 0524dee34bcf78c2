package apply

import (
	"context"
	"testing"
	"time"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/state"
)

// TestDestroyEndsThoughABackendIsAway: it leaves the jobs there as the state knows
// them, and the next destroy cancels them.
func TestDestroyEndsThoughABackendIsAway(t *testing.T) {
	t.Parallel()
	f := newMachines(t, `
backend "far" "x" {
  hosts   = ["a"]
  workdir = "~/w"
}
phase "long" {
  place { candidates = [backend.far.x] }
  job {
    command = "sleep 600; echo > ${output.o}"
    output "o" { path = "out/o" }
  }
}`)
	f.conf = func(c *Config) { c.Mode = Detach }
	f.apply(t.Context())
	if job := f.state().Jobs["phase.long"]; job == nil || !job.Status.Active() {
		t.Fatalf("the job does not run: %s", text(job))
	}
	f.conf, f.opts = nil, planner.Options{Destroy: true}
	f.far.cut("a", true)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if o := f.apply(ctx); o.Stopped != progress.None || o.Unknown != 1 || o.Cancelled != 0 {
		t.Errorf("outcome %+v", o)
	}
	if job := f.state().Jobs["phase.long"]; !job.Status.Active() {
		t.Errorf("it is not kept: %s", text(job))
	}
	f.far.cut("a", false)
	f.apply(t.Context())
	if job := f.state().Jobs["phase.long"]; job.Status != state.Cancelled {
		t.Errorf("it is not cancelled: %s", text(job))
	}
}
