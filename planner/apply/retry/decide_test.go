package retry

import (
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/retry"
	"github.com/muster-run/muster/state"
)

func TestWhatFollowsAFailure(t *testing.T) {
	// Requirement: CB-16
	t.Parallel()
	of := func(p retry.Policy) retry.Phase { return retry.Phase{Policy: p} }
	oom := of(retry.Policy{On: []string{"oom"}, Max: 3})
	away := oom
	away.Place = map[string][]string{"oom_gpu": {"local.b"}}
	hour := offer.Shape{Walltime: time.Hour}
	walltime := of(retry.Policy{On: []string{"walltime"}, Max: 3})
	longer := of(retry.Policy{On: []string{"walltime"}, Max: 3, Scale: map[string]retry.Scale{"walltime": {Walltime: 2}}})
	node := []state.Attempt{{N: 1, Class: "node_failure"}}
	own := []lang.Failure{{Name: "velocity", Action: "hold"}, {Name: "glitch", Action: "retry"}, {Name: "x", Class: "oom_host", Action: "fail"}}
	for name, c := range map[string]struct {
		Case
		catalogue []lang.Failure
		want      Action
	}{
		"a class that is not in retry.on":           {Case{Class: "nan", Launch: 1, Policy: oom}, nil, Fail},
		"a class in retry.on":                       {Case{Class: "oom_gpu", Launch: 1, Policy: oom}, nil, Again},
		"the last launch":                           {Case{Class: "oom_gpu", Launch: 3, Policy: oom}, nil, Fail},
		"a smoke":                                   {Case{Class: "oom_gpu", Launch: 1, Policy: oom, Smoke: true}, nil, Fail},
		"its queue has retried":                     {Case{Class: "oom_gpu", Launch: 1, Policy: oom, Rides: true}, nil, Fail},
		"its queue leaves it to muster":             {Case{Class: "oom_gpu", Launch: 1, Policy: away, On: "local.a", Rides: true}, nil, Again},
		"where it went, its queue has retried":      {Case{Class: "oom_gpu", Launch: 2, Policy: away, On: "local.b", Rides: true}, nil, Fail},
		"elsewhere, and no launch is left":          {Case{Class: "oom_gpu", Launch: 3, Policy: away, On: "local.a", Rides: true}, nil, Fail},
		"walltime, and nothing moved":               {Case{Class: "walltime", Launch: 1, Policy: walltime, Shape: hour}, nil, Fail},
		"walltime, with a longer one":               {Case{Class: "walltime", Launch: 1, Policy: longer, Shape: hour}, nil, Again},
		"walltime, as long as the pool has":         {Case{Class: "walltime", Launch: 1, Policy: longer, Shape: hour, Most: retry.Bound{Walltime: time.Hour}}, nil, Fail},
		"walltime, and its checkpoint moved":        {Case{Class: "walltime", Launch: 1, Policy: walltime, Shape: hour, Moved: true}, nil, Again},
		"a paid machine, once":                      {Case{Class: "node_failure", Launch: 1, Paid: true}, nil, Again},
		"a paid machine, twice":                     {Case{Class: "gpu_lost", Launch: 2, Paid: true, Before: node, Policy: of(retry.Policy{On: []string{"gpu_lost"}, Max: 9})}, nil, Fail},
		"a node, where no policy says anything":     {Case{Class: "node_failure", Launch: 1, Rides: true}, nil, Again},
		"a node, where the policy is of others":     {Case{Class: "preempted", Launch: 3, Policy: oom}, nil, Again},
		"a node, for the second time":               {Case{Class: "transport", Launch: 2, Before: node}, nil, Fail},
		"a node, and one launch is all":             {Case{Class: "node_failure", Launch: 1, Policy: retry.Phase{Once: true}}, nil, Fail},
		"a node that the policy names":              {Case{Class: "node_failure", Launch: 2, Policy: of(retry.Policy{On: []string{"node_failure"}, Max: 2})}, nil, Fail},
		"the campaign's own class holds":            {Case{Class: "velocity", Launch: 1, Policy: oom}, own, Hold},
		"the campaign's own class retries":          {Case{Class: "glitch", Launch: 1, Policy: oom}, own, Again},
		"the campaign's word is above its retry.on": {Case{Class: "oom_host", Launch: 1, Policy: oom}, own, Fail},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, _ := Decide(c.Case, c.catalogue); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
