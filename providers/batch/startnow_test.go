package batch

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// TestStartNow: a job that was delayed because its volume was full starts now;
// what waits out the delay of its retry, or starts when somebody said, is not.
func TestStartNow(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.submit("batch0123456789", k.jobs("a", 5, nil)...)
	now := time.Now()
	put := func(i int, class string) {
		token := fmt.Sprintf("a%d", i)
		k.record(token, node.End{Begin: node.Begin{Token: token, ID: fmt.Sprintf("1_%d", i), At: now}, Unbegun: class == failure.DiskFull,
			Seen: offer.Observation{Token: token, Presence: offer.Found, Handle: fmt.Sprintf("1_%d", i), Status: offer.Waiting, Class: class, Attempt: 1, Started: now, Ended: now}})
	}
	put(0, failure.DiskFull)
	put(1, failure.NaN)
	for i, start := range []time.Duration{4 * time.Minute, 4 * time.Minute, 4 * time.Minute, time.Hour, -time.Minute} {
		r := k.row("1", i, "PENDING", "JobHeldUser")
		r["%S"] = fmt.Sprint(now.Add(start).Unix())
		k.f.queued = append(k.f.queued, r)
	}
	k.found("a0")
	k.f.calls = nil
	release := false
	if err := k.s.Control(t.Context(), providers.ControlRequest{Backend: k.b.Name, Fence: 1, Hold: &release, Tokens: []string{"a0", "a1", "a2", "a3", "a4"}}); err != nil {
		t.Fatal(err)
	}
	if got, want := k.f.told(), []string{"scontrol release 1", "scontrol update JobId=1_[0,2] StartTime=now"}; !slices.Equal(got, want) {
		t.Errorf("Slurm was told %q, not %q", got, want)
	}
}
