package cluster

import (
	"testing"

	"github.com/muster-run/muster/providers/batch/scheduler"
)

// A job that PBS requeued because its node died says so until its next launch. As OpenPBS 23.06
// prints it.
func TestWhyAJobWasRequeued(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]scheduler.Outcome{"-20": scheduler.NodeFailed, "0": "", "-11": "", "": ""} {
		text := "Job Id: 40.pbs1\n    Job_Name = j\n    job_state = Q\n    queue = workq\n    comment = Not Running: Not enough free nodes available\n    run_count = 1\n"
		if status != "" {
			text += "    Exit_status = " + status + "\n"
		}
		jobs, err := parseJobs([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := jobs["40.pbs1"].row(scheduler.ElementID{Array: "40.pbs1", Index: -1}, nil).Before.Outcome; got != want {
			t.Errorf("Exit_status %q: %q, want %q", status, got, want)
		}
	}
}
