package batch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/failure"
)

// TestEndsWithoutAWordAreCounted by the breaker that wrappers keep: of jobs whose
// node took them down, or could not start them, no wrapper is left to do it.
func TestEndsWithoutAWordAreCounted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state   string
		claimed bool
		retry   providers.Retry
		stopped string
	}{
		"all killed at once":         {"FAILED", true, providers.Retry{Max: 1}, "3 times in a row"},
		"scripts that cannot start":  {"FAILED", false, providers.Retry{Max: 1}, "3 times in a row"},
		"nodes that die":             {"NODE_FAIL", true, providers.Retry{Max: 1}, ""},
		"nodes, and others are left": {"NODE_FAIL", true, providers.Retry{Max: 3, On: []string{failure.NodeFailure}}, ""},
		"preempted":                  {"PREEMPTED", true, providers.Retry{Max: 1}, ""},
		"cancelled":                  {"CANCELLED by 1001", true, providers.Retry{Max: 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			jobs := k.jobs("a", 3, nil)
			for i := range jobs {
				jobs[i].Breaker, jobs[i].Retry = providers.Breaker{SameError: 3}, c.retry
			}
			k.submit("batch0123456789", jobs...)
			batch := k.s.backends[k.b.Name].campaign.jobs.byToken["a0"].batch.Name
			now, ended := fmt.Sprint(time.Now().Unix()+1), fmt.Sprint(time.Now().Unix()-60)
			var rows []values
			for i, j := range jobs {
				if c.claimed {
					k.starts(node.Begin{Token: j.Token, ID: fmt.Sprintf("1_%d", i), At: time.Now(), Node: "cpu1"})
				}
				rows = append(rows, values{"JobID": fmt.Sprintf("1_%d", i), "State": c.state, "ExitCode": "0:9", "Submit": now, "Start": ended, "End": ended, "JobName": batch,
					"NodeList": fmt.Sprintf("cpu%d", i)})
			}
			k.f.answer = func(argv []string) *command.Result {
				if argv[0] == "sacct" {
					return &command.Result{Out: printed(argv, rows...)}
				}
				return nil
			}
			k.found("a0")
			why := node.Spool(k.spool()).Stopped("a")
			if c.stopped == "" && why != "" || !strings.Contains(why, c.stopped) {
				t.Errorf("stopped: %q, want %q", why, c.stopped)
			}
		})
	}
}
