package cluster

import (
	"context"
	"testing"

	"github.com/muster-run/muster/providers/batch/command"
)

// showing answers as scontrol would.
type showing command.Result

func (s showing) Run(context.Context, []string, []byte) (command.Result, error) {
	return command.Result(s), nil
}

// TestAtOnce: how many of an array may run, by records of 22.05.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		says command.Result
		want int
	}{
		"of those that wait as one":  {command.Result{Out: []byte("JobId=8 ArrayJobId=8 ArrayTaskId=2-9%2 ArrayTaskThrottle=2 JobName=wrap UserId=root(0)\n")}, 2},
		"of one that has its record": {command.Result{Out: []byte("JobId=10 ArrayJobId=8 ArrayTaskId=1 ArrayTaskThrottle=3 JobName=wrap UserId=root(0)\n")}, 3},
		"all":                        {command.Result{Out: []byte("JobId=8 ArrayJobId=8 ArrayTaskId=0-9 JobName=x ArrayTaskThrottle=4 UserId=root(0)\n")}, 0},
		"a job by that id":           {command.Result{Out: []byte("JobId=8 JobName=wrap UserId=root(0)\n")}, -1},
		"it is gone":                 {command.Result{Code: 1, Err: []byte("slurm_load_jobs error: Invalid job id specified\n")}, -1},
	} {
		if got, err := New(showing(tt.says), "me").AtOnce(t.Context(), "8"); err != nil || got != tt.want {
			t.Errorf("%s: %d, %v; want %d", name, got, err, tt.want)
		}
	}
	if _, err := New(showing(command.Result{Code: 1, Err: []byte("slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n")}), "me").AtOnce(t.Context(), "8"); err == nil {
		t.Error("a controller that does not answer has said something")
	}
}
