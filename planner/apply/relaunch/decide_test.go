package relaunch

import (
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/retry"
	"github.com/muster-run/muster/state"
)

func TestWhatFollowsAFailure(t *testing.T) {
	t.Parallel()
	oom := retry.Policy{On: []string{"oom"}, Max: 3}
	node := []state.Attempt{{N: 1, Class: "node_failure"}}
	own := []lang.Failure{{Name: "velocity", Action: "hold"}, {Name: "glitch", Action: "retry"}, {Name: "x", Class: "oom_host", Action: "fail"}}
	for name, c := range map[string]struct {
		Case
		catalogue []lang.Failure
		want      Action
	}{
		"a class that is not in retry.on":           {Case{Class: "nan", Launch: 1, Most: 3, Policy: oom}, nil, Fail},
		"a class in retry.on":                       {Case{Class: "oom_gpu", Launch: 1, Most: 3, Policy: oom}, nil, Retry},
		"the last launch":                           {Case{Class: "oom_gpu", Launch: 3, Most: 3, Policy: oom}, nil, Fail},
		"a smoke":                                   {Case{Class: "oom_gpu", Launch: 1, Most: 3, Policy: oom, Smoke: true}, nil, Fail},
		"its queue has retried":                     {Case{Class: "oom_gpu", Launch: 1, Most: 3, Policy: oom, Rides: true}, nil, Fail},
		"walltime without a checkpoint":             {Case{Class: "walltime", Launch: 1, Most: 3, Policy: retry.Policy{On: []string{"walltime"}}}, nil, Fail},
		"walltime with a checkpoint":                {Case{Class: "walltime", Launch: 1, Most: 3, Policy: retry.Policy{On: []string{"walltime"}}, Checkpoint: true}, nil, Retry},
		"a paid machine, once":                      {Case{Class: "node_failure", Launch: 1, Most: 1, Paid: true}, nil, Retry},
		"a paid machine, twice":                     {Case{Class: "gpu_lost", Launch: 2, Most: 9, Paid: true, Before: node, Policy: retry.Policy{On: []string{"gpu_lost"}}}, nil, Fail},
		"the campaign's own class holds":            {Case{Class: "velocity", Launch: 1, Most: 3, Policy: oom}, own, Hold},
		"the campaign's own class retries":          {Case{Class: "glitch", Launch: 1, Most: 3, Policy: oom}, own, Retry},
		"the campaign's word is above its retry.on": {Case{Class: "oom_host", Launch: 1, Most: 3, Policy: oom}, own, Fail},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Decide(c.Case, c.catalogue); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
