package rental_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// pass is a muster that leaves as soon as it can, and what its provider says of jobs then.
func (n *town) pass(jobs ...providers.Job) (statuses []offer.Status) {
	n.Helper()
	ctx, stop := context.WithTimeout(n.Context(), 2*time.Minute)
	defer stop()
	if _, err := n.provider.Submit(ctx, providers.SubmitRequest{Backend: n.backend.Name, Fence: 1}); err != nil {
		n.Fatal(err)
	}
	var tokens []string
	for _, j := range jobs {
		tokens = append(tokens, j.Token)
	}
	obs, err := n.provider.Find(ctx, n.backend.Name, tokens)
	if err != nil {
		n.Fatal(err)
	}
	for _, o := range obs {
		statuses = append(statuses, o.Status)
		if o.Status == offer.Queued && o.Stage == offer.Released {
			statuses[len(statuses)-1] = offer.Running
		}
	}
	n.begin()
	return statuses
}

// TestPasses: processes that leave as soon as they can rent, hand jobs out and take results
// in, one step after another, and release the machine in the end.
func TestPasses(t *testing.T) {
	t.Parallel()
	n := newTown(t, nil)
	n.backend.OnHold, n.backend.Hold = "release", time.Minute
	n.begin()
	command := "while [ ! -e go ]; do sleep 0.05; done; echo '{}' > "
	a, b := n.job("a", command+"a.json"), n.job("b", command+"b.json")
	n.submit(a, b)
	if got := n.pass(a, b); got[0] != offer.Running || got[1] != offer.Queued {
		t.Fatalf("after a pass: %v", got)
	}
	if got := n.pass(a, b); got[0] != offer.Running || got[1] != offer.Queued {
		t.Fatalf("while it runs: %v", got)
	}
	if err := errors.Join(os.MkdirAll(n.backend.Workdir, 0o700), os.WriteFile(filepath.Join(n.backend.Workdir, "go"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if got := n.pass(a, b); got[0] == offer.Completed && got[1] == offer.Completed {
			break
		}
	}
	if got := n.pass(a, b); got[0] != offer.Completed || got[1] != offer.Completed {
		t.Fatalf("after all passes: %v", got)
	}
	if got := n.alive(); len(got) != 1 {
		t.Fatalf("machines %v: one was wanted, and its hold is not over", got)
	}
	n.clock.Advance(2 * time.Minute)
	n.pass(a, b)
	n.clock.Advance(5 * time.Minute)
	n.pass(a, b)
	if got := n.alive(); len(got) != 0 {
		t.Errorf("machines %v are left after their hold", got)
	}
}

// TestPassWithoutAMachine: a pass ends where nothing can be rented, and where the machine
// does not answer.
func TestPassWithoutAMachine(t *testing.T) {
	t.Parallel()
	n := newTown(t, map[string]any{"max_usd_per_hour": 0.01})
	j := n.job("a", "echo '{}' > a.json")
	n.submit(j)
	if got := n.pass(j); got[0] != offer.Queued {
		t.Errorf("%v", got)
	}

	n = newTown(t, nil)
	j = n.job("a", "echo '{}' > a.json")
	n.submit(j)
	n.says = func(id string) string {
		n.mu.Lock()
		n.cut[id] = true
		n.mu.Unlock()
		return report("gpu NVIDIA GeForce RTX 4090, 24564, 570.124.06")
	}
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	if _, err := n.provider.Submit(ctx, providers.SubmitRequest{Backend: n.backend.Name, Fence: 1}); !errors.Is(err, context.DeadlineExceeded) && err != nil {
		t.Errorf("a pass that was cut short: %v", err)
	}
}
