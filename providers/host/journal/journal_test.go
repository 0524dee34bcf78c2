package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/needs"
)

type note struct {
	Kind string `json:"kind"`
	N    uint64 `json:"n"`
}

func numbers(t *testing.T, path string) (got []uint64, err error) {
	j, err := Open(path, func(e note) error {
		got = append(got, e.N)
		return nil
	})
	if err == nil {
		j.f.Close()
	}
	return got, err
}

func writeLog(t *testing.T, n int) (path string, whole []byte) {
	path = filepath.Join(t.TempDir(), "log")
	j, err := Open(path, func(note) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		j.Append(&note{Kind: "n", N: uint64(i + 1)})
	}
	if err := j.Sync(); err != nil {
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
		got, err := numbers(t, path)
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
		got, err := numbers(t, path)
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

func TestSystemJournalWithoutRoom(t *testing.T) {
	t.Parallel()
	path, whole := writeLog(t, 2)
	j, err := Open(path, func(note) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		needs.Absent(t, err)
	}
	good := j.f
	j.f = full
	j.Append(&note{Kind: "n", N: 3})
	if err := j.Sync(); err == nil {
		t.Fatal("a full disk took it")
	}
	if b, _ := os.ReadFile(path); !bytes.Equal(b, whole) {
		t.Fatalf("the log changed: %q", b)
	}
	j.f = good
	if err := j.Sync(); err != nil {
		t.Fatal(err)
	}
	if got, err := numbers(t, path); err != nil || len(got) != 3 {
		t.Errorf("%v %v", got, err)
	}
}
