package node

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/guard"
)

// A launch that the scheduler starts again finds its output paths empty, with muster off; what the
// launch before left is in a folder of its own, whether or not its end was recorded.
//
// Requirement: FAIL-08, STO-15
func TestRestartBeginsApart(t *testing.T) {
	t.Parallel()
	for name, recorded := range map[string]bool{"ended": true, "killed with its node": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			j := w.job("echo 2 >> r", "r")
			j.Guard, j.Retry = &offer.Guard{}, providers.Retry{On: []string{failure.Preempted}, Max: 3}
			b := Begin{Token: j.Token, ID: "5"}
			if got, err := w.spool.take(b); err != nil || got != claimed {
				t.Fatal(got, err)
			}
			if err := os.WriteFile(filepath.Join(w.dir, "r"), []byte("1\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			if recorded {
				e := End{Begin: b, Outside: true, Seen: offer.Observation{Token: j.Token, Status: offer.Failed, Class: failure.Preempted, Outputs: guard.Left(&j)}}
				if err := w.spool.made(e); err != nil {
					t.Fatal(err)
				}
			}
			if code, e := w.run(j, allocation{job: "5", restart: 1}); code != 0 || len(e.Seen.Notes) != 1 {
				t.Errorf("status %d, %+v", code, e)
			}
			for name, want := range map[string]string{"r": "2\n", attempt.FailedPath(j.Token, 1) + "/r": "1\n"} {
				if got, err := os.ReadFile(filepath.Join(w.dir, name)); err != nil || string(got) != want {
					t.Errorf("%s: %q, %v", name, got, err)
				}
			}
		})
	}
}
