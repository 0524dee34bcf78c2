package apply

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/state"
)

const longFar = `
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
}`

// TestDestroyEndsThoughABackendIsAway: it leaves the jobs there as the state knows
// them, and the next destroy cancels them.
func TestDestroyEndsThoughABackendIsAway(t *testing.T) {
	t.Parallel()
	f := newMachines(t, longFar)
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
	f.cancels("phase.long")
}

// TestDestroyEndsThoughABackendGoesAway: as it asks for the end of a job, or when it
// asked and the backend answered. The next destroy learns what became of the job.
func TestDestroyEndsThoughABackendGoesAway(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]bool{"before the cancel": false, "after it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// It outlives the first signal, so that its end does not come before the cut.
			f := newMachines(t, strings.Replace(longFar, "sleep 600", "trap '' TERM; sleep 600", 1))
			f.conf = func(c *Config) { c.Mode = Detach }
			f.apply(t.Context())
			f.conf, f.opts = nil, planner.Options{Destroy: true}
			f.far.cancelling = func(done bool) {
				if done == when {
					f.far.cut("a", true)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if o := f.apply(ctx); o.Stopped != progress.None || o.Unknown != 1 || o.Cancelled != 0 {
				t.Errorf("outcome %+v", o)
			}
			f.far.cancelling = nil
			f.far.cut("a", false)
			f.cancels("phase.long")
		})
	}
}

// cancels applies, and expects that the job is cancelled then.
func (f *machines) cancels(address string) {
	f.t.Helper()
	f.apply(f.t.Context())
	if job := f.state().Jobs[address]; job.Status != state.Cancelled {
		f.t.Errorf("it is not cancelled: %s", text(job))
	}
}
