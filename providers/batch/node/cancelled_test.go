package node

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// TestCancelledWhateverItExitsWith: a shell whose command was ended goes on at
// times, writes what it was to write, and exits 0. A job that was cancelled and
// told to end is cancelled; one that was cancelled too late, or told to end by
// somebody else and did well all the same, is done.
func TestCancelledWhateverItExitsWith(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		told, cancelled bool
		exit            int
		status          offer.Status
	}{
		"cancelled, and ends with 0":     {told: true, cancelled: true, exit: 0, status: offer.Cancelled},
		"cancelled, and fails":           {told: true, cancelled: true, exit: 143, status: offer.Cancelled},
		"cancelled when it had ended":    {cancelled: true, exit: 0, status: offer.Completed},
		"told by Slurm, and ends with 0": {told: true, exit: 0, status: offer.Completed},
		"told by Slurm, and fails":       {told: true, exit: 143, status: offer.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			j := w.job("true")
			s := &command{start: &start{spool: w.spool, batch: w.batch, job: &j, allocation: allocation{scheduler: cluster.Node{}}, begin: Begin{Token: j.Token, ID: "5"}}, told: c.told}
			if c.cancelled {
				path := w.spool.path("cancels", j.Token)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			e, _ := s.verdict(&c.exit, "")
			if e.Seen.Status != c.status {
				t.Errorf("%s, class %q; want %s", e.Seen.Status, e.Seen.Class, c.status)
			}
			if c.status == offer.Cancelled && (e.Outside || e.Seen.Class != "" || s.status(e) == 0) {
				t.Errorf("it is told as %+v, and Slurm as %d", e.Seen, s.status(e))
			}
		})
	}
}
