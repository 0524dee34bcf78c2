package cluster

import (
	"testing"
	"time"

	"github.com/muster-run/muster/providers/batch/scheduler"
)

// TestAccountRunning: rows that are not complete yet have no name, and are
// nobody's.
func TestAccountRunning(t *testing.T) {
	t.Parallel()
	rows, unread := parseAccount(recorded(t, "sacct-running.out"), recordedAccount)
	if unread > 0 {
		t.Fatalf("%d rows could not be read", unread)
	}
	h := histories(rows)[scheduler.ElementID{Array: "25", Index: -1}]
	if h == nil || len(h.rows) != 1 || h.rows[0].Name != "allocation" {
		t.Fatalf("job 25 is %+v", h)
	}
	if r := scheduler.Histories(launches(rows))[scheduler.ElementID{Array: "25", Index: -1}].Last("gpu.0123.0", time.Time{}); r != nil {
		t.Errorf("a row without a name was taken for ours: %+v", r)
	}
}

// TestAccountCores: a launch was given the cores of all of its nodes, and one
// that never began was given none.
func TestAccountCores(t *testing.T) {
	t.Parallel()
	rows, unread := parseAccount(recorded(t, "sacct.out"), recordedAccount)
	if unread > 0 {
		t.Fatalf("%d rows could not be read", unread)
	}
	by := scheduler.Histories(launches(rows))
	for id, want := range map[string]int{"1": 1, "92": 2, "26": 0} {
		h := by[scheduler.ElementID{Array: id, Index: -1}]
		if len(h) != 1 || h[0].Cores != want {
			t.Errorf("job %s is %+v, want %d cores", id, h, want)
		}
	}
}
