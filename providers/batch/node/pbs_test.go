package node

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/pbs/cluster"
)

// TestSignalWherePBSSendsNone: PBS sends no signal before the walltime, so the wrapper sends
// the checkpoint's.
func TestSignalWherePBSSendsNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job("trap 'echo step 7 >ck; exit 85' USR1; while :; do sleep 0.1; done")
	j.Shape.Walltime = 6 * time.Second
	j.Checkpoint = providers.Checkpoint{Path: "ck", Signal: "USR1", Grace: 5 * time.Second}
	_, e := w.run(j, allocation{job: "5", scheduler: cluster.Node{}})
	saved, _ := os.ReadFile(filepath.Join(w.dir, "ck"))
	if e.Seen.Class != failure.Walltime || string(saved) != "step 7\n" {
		t.Errorf("saved %q: %+v", saved, e.Seen)
	}
}

// TestPatienceOfPBS: what PBS ends is killed while the wrapper can still record it; see
// Environment.Patience.
func TestPatienceOfPBS(t *testing.T) {
	t.Parallel()
	for grace, want := range map[time.Duration]time.Duration{0: 6 * time.Second, time.Minute: 6 * time.Second, 2 * time.Second: 2 * time.Second} {
		c := &command{start: &start{job: &providers.Job{Grace: grace}, allocation: allocation{scheduler: cluster.Node{}}}}
		if got := c.patience(); got != want {
			t.Errorf("grace %s: killed after %s, want %s", grace, got, want)
		}
	}
}
