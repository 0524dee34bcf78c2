package batch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// limited hands an array of ten over, of which four may run, and allows six.
func limited(t *testing.T) *bench {
	k := newBench(t)
	jobs := k.jobs("a", 10, nil)
	for i := range jobs {
		jobs[i].Cap = 4
	}
	k.submit("batch0123456789", jobs...)
	if err := k.s.Control(t.Context(), providers.ControlRequest{Backend: k.b.Name, Fence: 1, Phases: map[string]int{"a": 6}}); err != nil {
		t.Fatal(err)
	}
	k.f.calls = nil
	return k
}

// as has Slurm let so many of an array of ten run, of which some wait.
func (k *bench) as(atOnce, running, waiting int) {
	k.f.queued = nil
	for i := range running + waiting {
		row := k.row("1", i, "RUNNING", "None")
		if i >= running {
			row = k.row("1", i, "PENDING", "JobArrayTaskLimit")
		}
		k.f.queued = append(k.f.queued, row)
	}
	k.f.answer = func(argv []string) *command.Result {
		if strings.Join(argv, " ") != "scontrol -o show job 1" {
			return nil
		}
		limit := ""
		if atOnce > 0 {
			limit = fmt.Sprintf("ArrayTaskThrottle=%d ", atOnce)
		}
		return &command.Result{Out: []byte("JobId=12 ArrayJobId=1 ArrayTaskId=9 " + limit + "JobName=a UserId=root(0)\n")}
	}
	k.s.backends[k.b.Name].campaign.queue.rowsAt = time.Time{}
}

// TestThrottleForgotten: muster sets the share of an array again where Slurm has
// another number, by whoever drives the campaign; of a queue that is as
// told, nothing is.
func TestThrottleForgotten(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		atOnce, running, waiting int
		again                    bool
	}{
		"as told":                     {6, 4, 6, false},
		"the old one":                 {4, 4, 6, true},
		"none":                        {0, 4, 6, true},
		"fewer are left than may run": {0, 3, 2, false},
		"none waits":                  {4, 8, 0, false},
	} {
		for by, drive := range map[string]func(*bench){"watched": (*bench).watch, "for one pass": (*bench).proceed} {
			t.Run(name+", "+by, func(t *testing.T) {
				t.Parallel()
				k := limited(t)
				k.restart()
				k.found("a0")
				k.as(tt.atOnce, tt.running, tt.waiting)
				k.f.calls = nil
				drive(k)
				var want []string
				if tt.again {
					want = []string{"scontrol update JobId=1 ArrayTaskThrottle=6"}
				}
				if got := k.f.told(); !slices.Equal(got, want) {
					t.Errorf("Slurm is told %q, want %q", got, want)
				}
			})
		}
	}
}

// TestThrottleOfSomebody: an array that muster gives no limit has the one that
// somebody gave it.
func TestThrottleOfSomebody(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.submit("batch0123456789", k.jobs("a", 10, nil)...)
	k.as(4, 4, 6)
	k.watch()
	if got := k.f.told(); got != nil {
		t.Errorf("Slurm is told %q", got)
	}
}

// TestThrottleAskedSeldom: the controller is not asked for it with every look, and
// what it refuses keeps nobody from looking.
func TestThrottleAskedSeldom(t *testing.T) {
	t.Parallel()
	k := limited(t)
	k.as(4, 4, 6)
	usual := k.f.answer
	k.f.answer = func(argv []string) *command.Result {
		if slices.Contains(argv, "ArrayTaskThrottle=6") {
			return &command.Result{Code: 1, Err: []byte("Access/permission denied for job 1")}
		}
		return usual(argv)
	}
	asked, told := 0, 0
	for range 5 {
		k.watch()
		told += len(k.f.told())
		for _, call := range k.f.calls {
			if strings.Contains(call, "show job") {
				asked++
			}
		}
	}
	if asked != 1 || told != 1 {
		t.Errorf("Slurm is asked %d times and told %d times", asked, told)
	}
	for _, e := range k.s.backends[k.b.Name].campaign.reports.log.All() {
		if e.Note != nil && e.Note.Kind == "unreachable" {
			t.Errorf("it is unreachable: %s", e.Note.Text)
		}
	}
}

// TestHeldElement: what somebody holds of an array is told apart from what waits
// for its turn, though squeue can print both as one.
func TestHeldElement(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.submit("batch0123456789", k.jobs("a", 3, nil)...)
	held, waits := k.row("1", 1, "PENDING", "JobHeldAdmin"), k.row("1", 0, "PENDING", "Priority")
	last := k.row("1", 2, "PENDING", "Priority")
	k.f.answer = func(argv []string) *command.Result {
		switch {
		case argv[0] != "squeue":
			return nil
		case slices.Contains(argv, "-r"):
			return &command.Result{Out: printed(argv, waits, held, last)}
		}
		one := k.row("1", 0, "PENDING", "Priority,JobHeldAdmin")
		one["%K"] = "0-2"
		return &command.Result{Out: printed(argv, one)}
	}
	k.s.backends[k.b.Name].campaign.queue.rowsAt = time.Time{}
	k.watch()
	for token, r := range map[string]string{"a0": "Priority", "a1": "JobHeldAdmin", "a2": "Priority"} {
		if got := k.s.backends[k.b.Name].campaign.jobs.byToken[token].last.Reason; got != cluster.Reason(r) {
			t.Errorf("%s waits for %q, want %q", token, got, cluster.Reason(r))
		}
	}
}
