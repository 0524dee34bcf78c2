package scheduler

import (
	"testing"
	"time"
)

// TestOldID: an id that was given out again is not our job.
func TestOldID(t *testing.T) {
	t.Parallel()
	tried := time.Unix(1_800_000_000, 0)
	h := History{
		{End: End{Outcome: Completed}, Name: "students.0123.0", Submit: tried.Add(-time.Hour)},
		{End: End{Outcome: Failed}, Name: "other.0123.0", Submit: tried.Add(time.Second)},
	}
	if l := h.Last("students.0123.0", tried); l != nil {
		t.Errorf("took %+v for ours", *l)
	}
	h = append(h, Record{End: End{Outcome: TimedOut}, Name: "students.0123.0", Submit: tried.Add(time.Second)})
	if l := h.Last("students.0123.0", tried); l == nil || l.End.Outcome != TimedOut {
		t.Errorf("our launch is %+v", l)
	}
}
