package retry

import (
	"testing"

	"github.com/muster-run/muster/state"
)

func TestNext(t *testing.T) {
	t.Parallel()
	failed := func(status state.Status) *state.Job {
		return &state.Job{Status: status, Result: "r", Attempts: []state.Attempt{{N: 2, Plan: "before"}}}
	}
	again := Number{N: 3, Again: "before"}
	for name, c := range map[string]struct {
		rec          *state.Job
		plan, result string
		anew, retry  bool
		want         Number
	}{
		"never launched":                      {nil, "now", "r", true, false, Number{N: 1, Fresh: true}},
		"failed, and goes on":                 {failed(state.Failed), "now", "r", false, false, again},
		"failed, and this plan retries it":    {failed(state.Failed), "now", "r", false, true, Number{N: 3}},
		"failed, and this plan runs it anew":  {failed(state.Failed), "now", "r", true, false, Number{N: 1, Fresh: true}},
		"failed since this plan ran it anew":  {failed(state.Failed), "before", "r", true, false, again},
		"failed as another job":               {failed(state.Failed), "now", "s", false, false, Number{N: 1, Fresh: true}},
		"failed, and what it is is not known": {failed(state.Failed), "now", "", false, false, again},
		"completed":                           {failed(state.Completed), "now", "r", false, false, Number{N: 1, Fresh: true}},
		"cancelled":                           {failed(state.Cancelled), "now", "r", false, true, Number{N: 1, Fresh: true}},
	} {
		if got := Next(c.rec, c.plan, c.result, c.anew, c.retry); got != c.want {
			t.Errorf("%s: %+v, not %+v", name, got, c.want)
		}
	}
}
