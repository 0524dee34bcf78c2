package login

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
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

// as has squeue print an array: those that wait as one list, or each for itself.
func (k *bench) as(waiting string, running int, started time.Time) {
	k.f.queued = nil
	list := []string{waiting}
	if waiting == "each" {
		list = nil
		for i := running; i < 10; i++ {
			list = append(list, fmt.Sprint(i))
		}
	}
	for _, w := range list {
		row := k.row("1", 0, "PENDING", "JobArrayTaskLimit")
		row["%K"] = w
		k.f.queued = append(k.f.queued, row)
	}
	for i := range running {
		row := k.row("1", i, "RUNNING", "None")
		row["%S"] = fmt.Sprint(started.Unix())
		k.f.queued = append(k.f.queued, row)
	}
	k.s.backends[k.b.Name].campaign.rowsAt = time.Time{}
}

// TestThrottleForgotten: how many of an array may run is told again where Slurm
// goes by another number, by whoever drives the campaign; of a queue that is as
// told, nothing is.
func TestThrottleForgotten(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, tt := range map[string]struct {
		waiting string
		running int
		started time.Time
		again   bool
	}{
		"as told":                       {"4-9%6", 4, now, false},
		"the old one":                   {"4-9%4", 4, now, true},
		"none":                          {"4-9", 4, now, true},
		"fewer are left than may run":   {"8-9", 3, now, false},
		"each stands for itself":        {"each", 6, now, false},
		"and no more start":             {"each", 4, now, true},
		"and more started since":        {"each", 8, now.Add(time.Hour), true},
		"and more had started before":   {"each", 8, now, false},
		"one waits, of as many as may":  {"9", 6, now, false},
		"one waits, though it need not": {"9", 5, now, true},
	} {
		for by, drive := range map[string]func(*bench){"watched": (*bench).watch, "for one pass": (*bench).proceed} {
			t.Run(name+", "+by, func(t *testing.T) {
				t.Parallel()
				k := limited(t)
				k.restart()
				k.found("a0")
				k.as(tt.waiting, tt.running, tt.started)
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

// TestThrottleOnceHeeded: what is only seen by what runs is told again now and
// then, and not with every look.
func TestThrottleOnceHeeded(t *testing.T) {
	t.Parallel()
	k := limited(t)
	k.as("each", 4, time.Now())
	told := 0
	for range 5 {
		k.watch()
		told += len(k.f.told())
	}
	if told != 1 {
		t.Errorf("Slurm is told %d times", told)
	}
}

// TestThrottleNeverChanged: what starts beyond the limit that an array was
// submitted with is too many at any time.
func TestThrottleNeverChanged(t *testing.T) {
	t.Parallel()
	k := limited(t)
	if err := os.Remove(filepath.Join(k.spool(), "batches", k.first(), "limit")); err != nil {
		t.Fatal(err)
	}
	k.restart()
	k.found("a0")
	k.as("each", 5, time.Now().Add(-time.Hour))
	k.watch()
	if got, want := k.f.told(), []string{"scontrol update JobId=1 ArrayTaskThrottle=4"}; !slices.Equal(got, want) {
		t.Errorf("Slurm is told %q, want %q", got, want)
	}
}
