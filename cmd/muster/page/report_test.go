package page

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/cmd/muster/selection"
	"github.com/muster-run/muster/internal/term"
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
		r := ReportOf(c, st, selection.Jobs{})
		if got := r.Phases[0].Retried; got != v.retried {
			t.Errorf("%s: %d retried", v.name, got)
		}
		if j := r.Jobs[0]; j.Attempts != 3 || len(j.Failures) != v.failed || j.Seconds != v.hours*3600 {
			t.Errorf("%s: %d attempts, failures %v, %v s", v.name, j.Attempts, j.Failures, j.Seconds)
		}
	}
}

// TestOneQueueTimeAndOneSpan: a phase has one median of its jobs' time in queues, that
// of its history, and the report begins with the first submission: a launch before the
// last may have started by a clock that was set since.
func TestOneQueueTimeAndOneSpan(t *testing.T) {
	t.Parallel()
	const src = `
campaign "test" {}
phase "train" {
  grid { axes = { i = range(4) } }
  place { candidates = [backend.local.local] }
  retry { on = ["killed"] }
  job { command = "train ${cell.i}" }
}`
	c, diags := lang.LoadFiles(map[string][]byte{"c.muster.hcl": []byte(src)}, lang.LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	began := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }
	st := state.New("test")
	for i, launches := range [][]state.Attempt{
		{{Queued: at(0), Started: at(10), Ended: at(20)}},
		{{Queued: at(1), Started: at(-9000), Ended: at(-8990), Class: "killed"}, {Queued: at(15), Started: at(18), Ended: at(30)}},
		{{Queued: at(0), Started: at(9000), Ended: at(9001), Class: "killed"}, {Started: at(20), Ended: at(30)}},
		{{Queued: at(2), Started: at(25)}},
	} {
		address := c.Phases[0].Address(i)
		job := &state.Job{Address: address, Phase: "train", Status: state.Completed, Attempts: launches}
		if launches[len(launches)-1].Ended.IsZero() {
			job.Status = state.Running
		}
		st.Jobs[address] = job
	}
	r := ReportOf(c, st, selection.Jobs{})
	if q, h := r.Phases[0].Queued, r.History[0].Median.Queue; q != h || q > 600 {
		t.Errorf("the median wait is %v s, and %v s", q, h)
	}
	if !r.Began.Equal(began) || !r.Ended.Equal(at(30)) {
		t.Errorf("from %s to %s", r.Began, r.Ended)
	}
	st.Jobs = map[string]*state.Job{c.Phases[0].Address(3): st.Jobs[c.Phases[0].Address(3)]}
	if text := ReportOf(c, st, selection.Jobs{}).Markdown(term.Style{}); strings.Contains(text, "last end") {
		t.Errorf("nothing has ended:\n%s", text)
	}
}
