package batch

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/offer"
)

// TestHeldBeforeSubmitted: jobs that were accepted and are then held one by one
// are not submitted, the others of their array are, and a release of everything
// leaves them held, also after a restart.
func TestHeldBeforeSubmitted(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	full := true
	k.f.refuse = func([]string) *command.Result {
		if !full {
			return nil
		}
		return &command.Result{Code: 1, Err: []byte("sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy")}
	}
	control := func(hold bool, tokens ...string) {
		t.Helper()
		if err := k.s.Control(t.Context(), providers.ControlRequest{Backend: k.b.Name, Fence: 1, Hold: &hold, Tokens: tokens}); err != nil {
			t.Fatal(err)
		}
	}
	arrays := func() (list []string) {
		for _, s := range k.f.scripts {
			list = append(list, directive(s, "array"))
		}
		return list
	}
	k.submit("batch0123456789", k.jobs("a", 4, nil)...)
	control(true, "a2", "a3")
	full = false
	k.restart()
	control(true) // and a hold of everything that is lifted
	control(false)
	if got := arrays(); !slices.Equal(got, []string{"0-1"}) {
		t.Fatalf("arrays %q were submitted, want 0-1", got)
	}
	if o := k.found("a3"); o.Stage != offer.Accepted {
		t.Errorf("a held job is told as %+v", o)
	}
	for _, call := range k.f.told() {
		if strings.HasPrefix(call, "scontrol release") && strings.Contains(call, "_[2") {
			t.Errorf("%s", call)
		}
	}
	control(false, "a2", "a3")
	if got := arrays(); !slices.Equal(got, []string{"0-1", "2-3"}) {
		t.Errorf("after the release arrays %q were submitted, want 0-1 and 2-3", got)
	}
}

// TestHeldOneByOneWhileAllIsHeld: jobs that Slurm has, held with all of their
// campaign, and that are then held one by one, are left out when everything else
// goes on; it is muster that holds them.
func TestHeldOneByOneWhileAllIsHeld(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	control := func(hold bool, tokens ...string) {
		t.Helper()
		if err := k.s.Control(t.Context(), providers.ControlRequest{Backend: k.b.Name, Fence: 1, Hold: &hold, Tokens: tokens}); err != nil {
			t.Fatal(err)
		}
	}
	control(true)
	k.submit("batch0123456789", k.jobs("a", 4, nil)...)
	control(true, "a1", "a2")
	k.restart()
	k.f.queued = nil
	for i := range 4 {
		reason := "None"
		if i == 1 || i == 2 {
			reason = "JobHeldUser"
		}
		k.f.queued = append(k.f.queued, k.row("1", i, "PENDING", reason))
	}
	control(false)
	var released []string
	for _, call := range k.f.told() {
		if strings.HasPrefix(call, "scontrol release") {
			released = append(released, call)
		}
	}
	if !slices.Equal(released, []string{"scontrol release 1_[0,3]"}) {
		t.Errorf("%q", released)
	}
	if o := k.found("a1"); o.Cause != offer.JobHeld || o.HeldBy != "" {
		t.Errorf("a held job is told as %+v", o)
	}
}

// TestHoldThatSlurmDidNotTake: a hold of everything that Slurm did not take is an error, and
// repeating it tells Slurm again.
func TestHoldThatSlurmDidNotTake(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.submit("batch0123456789", k.jobs("a", 4, nil)...)
	k.f.queued = nil
	for i := range 4 {
		k.f.queued = append(k.f.queued, k.row("1", i, "PENDING", "Priority"))
	}
	away := true
	k.f.answer = func(argv []string) *command.Result {
		if !away || argv[1] != "hold" {
			return nil
		}
		return &command.Result{Code: 1, Err: []byte("Unable to contact slurm controller (connect failure)")}
	}
	hold := true
	control := func() error {
		return k.s.Control(t.Context(), providers.ControlRequest{Backend: k.b.Name, Fence: 1, Hold: &hold})
	}
	var e *providers.Error
	if err := control(); !errors.As(err, &e) || e.Class != providers.Unreachable {
		t.Errorf("the hold that did not arrive: %v", err)
	}
	away, k.f.calls = false, nil
	if err := control(); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(k.f.told(), func(call string) bool { return call == "scontrol hold 1" }) {
		t.Errorf("the hold is not repeated: %q", k.f.told())
	}
}

// TestBreakerNoteOfAClosedBreaker: a watch that reads the breaker's note after the
// resume does not hear of it, or it would open the breaker again.
func TestBreakerNoteOfAClosedBreaker(t *testing.T) {
	t.Parallel()
	t.Run("phase", func(t *testing.T) { t.Parallel(); noteOfAClosedBreaker(t, "") })
	t.Run("setting", func(t *testing.T) { t.Parallel(); noteOfAClosedBreaker(t, `phase.a["m=1,*"]`) })
}

func noteOfAClosedBreaker(t *testing.T, of string) {
	k := newBench(t)
	jobs := k.jobs("a", 2, nil)
	jobs[0].Breaker.Of = of
	k.submit("batch0123456789", jobs...)
	stop := filepath.Join(k.spool(), node.StopFile(jobs[0].StoppedAs()))
	heard := func() (why []string) {
		k.told(func(b providers.Batch) {
			for _, n := range b.Notes {
				if n.Kind == "breaker" {
					why = append(why, n.Text)
				}
			}
		})
		return why
	}
	if err := os.WriteFile(stop, []byte("too many errors\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if why := heard(); !slices.Equal(why, []string{"stopped: too many errors"}) {
		t.Fatalf("a watch before the resume hears of %q", why)
	}
	if err := k.s.Control(t.Context(), providers.ControlRequest{Backend: k.b.Name, Fence: 1, Resume: []string{jobs[0].StoppedAs()}}); err != nil {
		t.Fatal(err)
	}
	if why := heard(); len(why) > 0 {
		t.Errorf("a watch after the resume hears of %q", why)
	}
}
