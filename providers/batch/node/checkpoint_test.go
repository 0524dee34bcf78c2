package node

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
)

// A launch on a node does not resume from a torn checkpoint, says so with its end, and leaves the
// newest of those that launches of the job wrote.
//
// Requirement: WT-08, STO-08
func TestCheckpointsOfALaunch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job("if [ -e ck/2 ]; then exit 9; fi; for i in 3 4; do echo $i > ck/$i; sleep 0.02; done; echo {} > r.json", "r.json")
	j.Address = "phase.a"
	j.Checkpoint = providers.Checkpoint{Path: filepath.Join(w.dir, "ck/*"), Glob: true, Keep: 1, MinSize: 1}
	ck := filepath.Join(w.dir, "ck")
	if err := errors.Join(os.MkdirAll(ck, 0o755), os.WriteFile(filepath.Join(ck, "1"), []byte("whole"), 0o600), os.WriteFile(filepath.Join(ck, "2"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	code, e := w.run(j, allocation{job: "7"})
	if code != 0 || !e.Completed() || len(e.Seen.Notes) != 1 || !strings.Contains(e.Seen.Notes[0], "ck/2 is torn") {
		t.Fatalf("%d %+v", code, e.Seen)
	}
	left, _ := filepath.Glob(filepath.Join(w.dir, "ck/*"))
	if len(left) != 2 || filepath.Base(left[0]) != "1" || filepath.Base(left[1]) != "4" {
		t.Errorf("%s stay", left)
	}
}
