package cluster

import (
	"testing"
	"time"
)

// TestAccountRunning: rows that are not complete yet have no name, and are
// nobody's.
func TestAccountRunning(t *testing.T) {
	t.Parallel()
	rows, unread := parseAccount(recorded(t, "sacct-running.out"), recordedAccount)
	if unread > 0 {
		t.Fatalf("%d rows could not be read", unread)
	}
	h := Histories(rows)[Place{"25", -1}]
	if h == nil || len(h.rows) != 1 || h.rows[0].Name != "allocation" {
		t.Fatalf("job 25 is %+v", h)
	}
	if r := h.Last("gpu.0123.0", time.Time{}); r != nil {
		t.Errorf("a row without a name was taken for ours: %+v", r)
	}
}

// TestOldID: an id that was given out again is not our job.
func TestOldID(t *testing.T) {
	t.Parallel()
	tried := time.Unix(1_800_000_000, 0)
	h := &History{rows: []AccountRow{
		{State: "COMPLETED", Name: "students.0123.0", Submit: tried.Add(-time.Hour)},
		{State: "FAILED", Name: "other.0123.0", Submit: tried.Add(time.Second)},
	}}
	if r := h.Last("students.0123.0", tried); r != nil {
		t.Errorf("took %+v for ours", *r)
	}
	h.rows = append(h.rows, AccountRow{State: "TIMEOUT", Name: "students.0123.0", Submit: tried.Add(time.Second)})
	if r := h.Last("students.0123.0", tried); r == nil || r.State != "TIMEOUT" {
		t.Errorf("our row is %+v", r)
	}
}
