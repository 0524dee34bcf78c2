package slurm

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// A busySlurm tells of its configuration when it may; who asks first has no
// more time by then.
type busySlurm struct {
	*fakeSlurm
	giveUp func()
	may    chan struct{}
}

func (b *busySlurm) Run(ctx context.Context, argv []string, in []byte) (command.Result, error) {
	if slices.Contains(argv, "config") {
		b.giveUp()
		select {
		case <-b.may:
		case <-ctx.Done():
			return command.Result{}, ctx.Err()
		}
	}
	return b.fakeSlurm.Run(ctx, argv, in)
}

// TestABusyControllerIsHeardOut: what a cluster had no time to tell is not taken
// for what it does not have, nor is the patience of one for the answer to all.
func TestABusyControllerIsHeardOut(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ctx, giveUp := context.WithCancel(t.Context())
	busy := &busySlurm{k.f, giveUp, make(chan struct{})}
	k.s.Cluster = cluster.New(busy, "me")
	if _, err := k.s.Facts(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up hears %v", err)
	}
	close(busy.may)
	s, err := k.s.factsForLimits(t.Context())
	if err != nil || s.MaxArray != 100 {
		t.Errorf("arrays have %v, %v", s, err)
	}
	asked := 0
	for _, c := range k.f.calls {
		if c == "scontrol show config" {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times: %q", asked, k.f.calls)
	}
}
