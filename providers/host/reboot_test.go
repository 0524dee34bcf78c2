package host

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-run/muster/providers/host/journal"
	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/offer"
)

func TestRebootIsTold(t *testing.T) {
	// Requirement: SCR-06, SCR-09
	t.Parallel()
	w := newWorld(t)
	t.Cleanup(func() { os.WriteFile(w.path("go"), nil, 0o644) })
	j := w.job("while [ ! -e go ]; do sleep 0.1; done; echo > out", "out")
	other := w.job("echo > other", "other")
	w.submit(j)
	w.until("a start", func() bool { return w.seen[j.Token].Status == offer.Running })
	w.kill()
	// The log as if it were of another boot.
	log := filepath.Join(w.dir, "s", "log")
	if err := rewriteBoot(log); err != nil {
		t.Fatal(err)
	}
	w.submit(other)
	got := w.wait(j, other)
	if got[0].Status != offer.Failed || got[0].Class != "node_failure" {
		t.Errorf("%+v", got[0])
	}
	if got[1].Status != offer.Completed {
		t.Errorf("%+v", got[1])
	}
	if len(w.notes) != 1 || w.notes[0].Kind != "reboot" {
		t.Errorf("notes: %+v", w.notes)
	}
}

// rewriteBoot changes the log as if its jobs had been started in another boot.
func rewriteBoot(path string) error {
	var lines []json.RawMessage
	j, err := journal.Open(path, func(line json.RawMessage) error {
		if bytes.Contains(line, []byte(`"step":`)) {
			line = bytes.ReplaceAll(line, []byte(`"boot":"`+monotonic.ID()), []byte(`"boot":"another`))
		}
		lines = append(lines, bytes.Clone(line))
		return nil
	})
	if err != nil {
		return err
	}
	defer j.Close()
	return j.Rewrite(func(put func(*json.RawMessage)) {
		for i := range lines {
			put(&lines[i])
		}
	})
}
