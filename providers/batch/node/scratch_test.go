package node

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// TestScratch: the command reads and writes on the node's disk, its output is in
// the workdir when the job is over, and nothing stays on the disk, not even what a
// killed start left there.
func TestScratch(t *testing.T) {
	// Requirement: WT-07, STO-18
	t.Parallel()
	w := newWorld(t)
	disk := t.TempDir()
	if err := w.batch.WriteBounds(scheduler.Bounds{Scratch: disk}); err != nil {
		t.Fatal(err)
	}
	in := filepath.Join(w.dir, "in.json")
	if err := os.WriteFile(in, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	from, to := offer.ScratchInput(offer.ScratchMark, "in", 0, 1, in), offer.ScratchOutput(offer.ScratchMark, "r", "r.json")
	j := w.job("echo >> ran; [ $MUSTER_INPUT_IN = "+from+" ] && [ $MUSTER_SCRATCH = "+offer.ScratchMark+" ] && cp "+from+" "+to, "r.json")
	j.Inputs = []providers.Input{{Name: "in", Paths: []string{in}}}
	j.Scratch = &offer.Scratch{In: []string{"in"}, Out: []string{"r"}}
	j.Retry = providers.Retry{On: []string{failure.Preempted}, Max: 2}
	if _, err := w.spool.take(Begin{Token: j.Token, ID: "5"}); err != nil { // the start that was killed
		t.Fatal(err)
	}
	for _, d := range []string{"muster-" + j.Token + ".node0", "muster-" + j.Token + ".node0.part", "of another"} {
		if err := os.MkdirAll(filepath.Join(disk, d, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(disk, "muster-"+j.Token+".node0.lock"), nil, 0o600); err != nil { // nobody holds it
		t.Fatal(err)
	}
	if code, e := w.run(j, allocation{job: "5", restart: 1}); code != 0 || !e.Completed() || e.Seen.Outputs[0].Path != "r.json" || w.ran() != 1 {
		t.Fatalf("status %d, ran %d times: %+v", code, w.ran(), e.Seen)
	}
	w.left(disk)
	failed := j
	failed.Token, failed.Shell, failed.Retry = rand.Text(), "exit 3", providers.Retry{}
	if _, e := w.run(failed, allocation{job: "6"}); e.Seen.Status != offer.Failed {
		t.Errorf("%+v", e.Seen)
	}
	w.left(disk)
}

// left checks that muster left nothing on the node's disk, and others' files alone.
func (w *world) left(disk string) {
	w.Helper()
	files, _ := os.ReadDir(disk)
	if len(files) != 1 || files[0].Name() != "of another" {
		w.Errorf("on the node's disk: %v", files)
	}
}

// TestScratchIsNotThere: a node without the disk does not run the job.
func TestScratchIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.batch.WriteBounds(scheduler.Bounds{Scratch: filepath.Join(t.TempDir(), "none")}); err != nil {
		t.Fatal(err)
	}
	j := w.job("echo >> ran")
	j.Scratch = &offer.Scratch{}
	if _, e := w.run(j, allocation{job: "5"}); e.Seen.Class != failure.MissingFile || w.ran() != 0 || !strings.Contains(e.Seen.Reason, "not on this node") {
		t.Errorf("ran %d times: %+v", w.ran(), e.Seen)
	}
}
