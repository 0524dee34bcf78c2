package progress_test

import (
	"reflect"
	"testing"

	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/progress"
)

// TestCount: every cell counts once, whatever it is; those that are not
// selected are no part of the total, and those behind a failure are blocked and
// not left.
func TestCount(t *testing.T) {
	t.Parallel()
	all := []cells.Status{cells.Skipped, cells.SkippedDone, cells.Pending, cells.Ready, cells.Submitting, cells.Queued, cells.Running, cells.Verifying,
		cells.Waiting, cells.Done, cells.Failed, cells.Held, cells.Cancelled, cells.Unknown, cells.Ending}
	first := &cells.Vertex{Tally: cells.NewTally(len(all))}
	for i, s := range all {
		first.Set(int32(i), s)
	}
	second := &cells.Vertex{Tally: cells.NewTally(2), Ord: 1}
	second.Set(0, cells.Pending)
	second.Set(1, cells.Done)
	second.Await(first)
	nodes := []*cells.Vertex{first, second}
	cells.Count(nodes)
	got := progress.Count(nodes)
	want := progress.Outcome{Total: 15, Done: 2, Failed: 1, Held: 1, Blocked: 1, Unknown: 1, Running: 3, Queued: 1, Unsent: 1, Left: 3, Skipped: 2, Cancelled: 1}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if sum := got.Done + got.Failed + got.Held + got.Blocked + got.Unknown + got.Running + got.Queued + got.Unsent + got.Left + got.Cancelled; sum != got.Total {
		t.Errorf("%d counted of %d", sum, got.Total)
	}
}

func TestQueueOn(t *testing.T) {
	t.Parallel()
	var o progress.Outcome
	o.QueueOn(map[string]int{"lab.b": 2, "lab.a": 2, "local.local": 7})
	if want := []progress.BackendCount{{"local.local", 7}, {"lab.a", 2}, {"lab.b", 2}}; !reflect.DeepEqual(o.QueuedOn, want) {
		t.Errorf("%v, want %v", o.QueuedOn, want)
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o           progress.Outcome
		stays, held bool
		want        string
	}{
		"all done":                    {progress.Outcome{Total: 3, Done: 3}, true, false, "done"},
		"all done, in one pass":       {progress.Outcome{Total: 3, Done: 3}, false, false, "done"},
		"jobs run on, in one pass":    {progress.Outcome{Running: 1}, false, false, ""},
		"one failed, others run on":   {progress.Outcome{Failed: 1, Queued: 1}, false, false, ""},
		"one failed":                  {progress.Outcome{Done: 2, Failed: 1, Left: 1}, true, false, "held"},
		"one blocked":                 {progress.Outcome{Blocked: 1}, true, false, "held"},
		"under a hold":                {progress.Outcome{Failed: 1}, true, true, ""},
		"a budget is spent":           {progress.Outcome{Stopped: progress.Budget, Left: 1}, true, false, "stopped by budget"},
		"interrupted":                 {progress.Outcome{Stopped: progress.Interrupted}, true, false, ""},
		"beyond what was approved":    {progress.Outcome{Stopped: progress.Beyond}, false, false, ""},
		"a backend cannot be asked":   {progress.Outcome{Done: 2, Unknown: 1}, true, false, ""},
		"the store failed":            {progress.Outcome{Stopped: progress.StoreFailed, Failed: 1}, true, false, ""},
		"another muster has the lock": {progress.Outcome{Stopped: progress.LeaseLost}, true, false, ""},
	} {
		if got := c.o.Verdict(c.stays, c.held); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
