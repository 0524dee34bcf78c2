package batch

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/offer"
)

// TestBilled: a job's billing-seconds are of what it is given, as accounting has
// them: eight cores for 8000M where a core has 1000M at most, and whole nodes.
func TestBilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options string
		shape   offer.Shape
		want    int
	}{
		"as asked":                 {"{}", offer.Shape{CPUs: 2, Nodes: 1}, 2},
		"cores for its memory":     {"{}", offer.Shape{CPUs: 1, Nodes: 1, Memory: 8000 << 20}, 8},
		"a node for itself":        {`{"exclusive": true}`, offer.Shape{CPUs: 1, Nodes: 1}, 64},
		"nodes by its options":     {`{"nodes": 2}`, offer.Shape{CPUs: 3}, 4},
		"two nodes for itself":     {`{"nodes": 2, "exclusive": true}`, offer.Shape{CPUs: 1}, 128},
		"one in each of its three": {"{}", offer.Shape{CPUs: 1, Nodes: 3}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			k.f.answer = func(argv []string) *command.Result {
				switch {
				case slices.Contains(argv, "partition"):
					return &command.Result{Out: []byte("PartitionName=amilan AllowQos=ALL MaxTime=1-00:00:00 TotalNodes=4 State=UP MaxMemPerCPU=1000\n")}
				case argv[0] == "sinfo":
					return &command.Result{Out: fmt.Appendf(nil, "%-64s%-64s%-24s%-32s%-16s%-256s%-256s%-256s\n", "cpu1", "amilan*", "idle", "0/64/0/64", "256000", "(null)", "(null)", "(null)")}
				}
				return nil
			}
			k.restart()
			jobs := k.jobs("a", 1, nil)
			jobs[0].Shape, jobs[0].Options = c.shape, json.RawMessage(c.options)
			k.submit("batch0123456789", jobs...)
			if got := k.s.backends[k.b.Name].campaign.jobs.batches[0].dir.Bounds().Billing; got != c.want {
				t.Errorf("billed for %d, want %d", got, c.want)
			}
		})
	}
}
