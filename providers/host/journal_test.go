package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/offer"
)

func fences(t *testing.T, path string) (got []uint64, err error) {
	j, err := openJournal(path, func(e entry) error {
		got = append(got, e.Fence.Fence)
		return nil
	})
	if err == nil {
		j.f.Close()
	}
	return got, err
}

func writeLog(t *testing.T, n int) (path string, whole []byte) {
	path = filepath.Join(t.TempDir(), "log")
	j, err := openJournal(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		j.append(&entry{Fence: &fenceEntry{Lineage: "l", Fence: uint64(i + 1)}})
	}
	if err := j.sync(); err != nil {
		t.Fatal(err)
	}
	j.f.Close()
	whole, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, whole
}

func TestJournalCutAnywhere(t *testing.T) {
	t.Parallel()
	path, whole := writeLog(t, 5)
	for n := range whole {
		os.WriteFile(path, whole[:n], 0o600)
		got, err := fences(t, path)
		if want := bytes.Count(whole[:n], []byte("\n")); err != nil || len(got) != want {
			t.Fatalf("cut at %d: %d entries, want %d; %v", n, len(got), want, err)
		}
	}
}

func TestJournalFlippedAnywhere(t *testing.T) {
	t.Parallel()
	path, whole := writeLog(t, 5)
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 1
		os.WriteFile(path, b, 0o600)
		got, err := fences(t, path)
		switch {
		case i < last-1 && err == nil:
			t.Fatalf("byte %d flipped: read %d entries without a word", i, len(got))
		case i < last-1 && !strings.Contains(err.Error(), "move the file aside"):
			t.Fatalf("byte %d flipped: %v", i, err)
		case i >= last && (err != nil || len(got) != 4):
			t.Fatalf("byte %d of the last entry flipped: %d entries, %v", i, len(got), err)
		}
	}
}

func TestJournalWithoutRoom(t *testing.T) {
	t.Parallel()
	path, whole := writeLog(t, 2)
	j, err := openJournal(path, func(entry) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	good := j.f
	j.f = full
	j.append(&entry{Fence: &fenceEntry{Lineage: "l", Fence: 3}})
	if err := j.sync(); err == nil {
		t.Fatal("a full disk took it")
	}
	if b, _ := os.ReadFile(path); !bytes.Equal(b, whole) {
		t.Fatalf("the log changed: %q", b)
	}
	j.f = good
	if err := j.sync(); err != nil {
		t.Fatal(err)
	}
	if got, err := fences(t, path); err != nil || len(got) != 3 {
		t.Errorf("%v %v", got, err)
	}
}

// TestSnapshotFoldsToTheSame: a compacted log makes the same queue.
func TestSnapshotFoldsToTheSame(t *testing.T) {
	q, p := inside(t, gpu.None{})
	for i := range 3 {
		j := gpuJob(p, fmt.Sprintf("exit %d", i))
		j.Shape.GPUs = 0
		submitInside(t, q, p, j)
		eventually(t, q, j.Token, func(o offer.Observation) bool { return o.Status == offer.Completed || o.Status == offer.Failed })
	}
	late := gpuJob(p, "true")
	late.After = []string{"waitsforever"}
	q.do(t.Context(), func() {
		q.graves["waitsforever"] = graveEntry{Token: "waitsforever", grave: grave{Status: offer.Failed}}
	})
	submitInside(t, q, p, late)
	var before, after bytes.Buffer
	q.do(t.Context(), func() {
		again := &queue{places: map[string]*place{}, jobs: map[string]*job{}, graves: map[string]graveEntry{}, fences: map[string]uint64{},
			environs: q.environs}
		q.snapshot(func(e *entry) {
			b, _ := json.Marshal(e)
			before.Write(append(b, '\n'))
			var back entry
			json.Unmarshal(b, &back)
			if err := again.fold(back); err != nil {
				t.Error(err)
			}
		})
		again.snapshot(func(e *entry) {
			b, _ := json.Marshal(e)
			after.Write(append(b, '\n'))
		})
	})
	if before.String() != after.String() {
		t.Errorf("before:\n%s\nafter:\n%s", before.String(), after.String())
	}
}

func TestRebootIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job("sleep 0.3; echo > out", "out")
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

func rewriteBoot(path string) error {
	var lines [][]byte
	j, err := openJournal(path, func(e entry) error {
		if e.Step != nil && e.Step.Now.Launch != nil {
			e.Step.Now.Launch.Boot = "another"
		}
		lines = append(lines, appendLine(nil, new(bytes.Buffer), &e))
		return nil
	})
	if err != nil {
		return err
	}
	j.f.Close()
	return os.WriteFile(path, bytes.Join(lines, nil), 0o600)
}
