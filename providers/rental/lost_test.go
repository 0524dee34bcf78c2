package rental

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
)

// A job whose machine is gone names the checkpoint that it goes on from, and counts the time
// from there to the end of the machine, whether that was taken away or just gone.
func TestLostWork(t *testing.T) {
	t.Parallel()
	d := depot{dir: t.TempDir(), home: "/root", workdir: "/root/work"}
	saved := time.Date(2026, 11, 29, 6, 49, 0, 0, time.UTC)
	path := d.here("ck")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("7"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, saved, saved); err != nil {
		t.Fatal(err)
	}
	var j job
	if got := d.lostWork(&j, nil); got != "it has no checkpoint, and begins again" {
		t.Error(got)
	}
	j.Spec = providers.Job{Checkpoint: providers.Checkpoint{Path: "ck"}}
	for name, c := range map[string]struct {
		rental *Rental
		lost   string
	}{
		"an unknown machine":      {nil, ""},
		"nothing after it":        {&Rental{Ended: saved}, ""},
		"taken away, found later": {&Rental{Lost: saved.Add(12 * time.Second), Ended: saved.Add(time.Hour)}, ", and up to 12s of work are lost"},
		"gone":                    {&Rental{Ended: saved.Add(20 * time.Second)}, ", and up to 20s of work are lost"},
	} {
		if got, want := d.lostWork(&j, c.rental), "it goes on from its checkpoint of 2026-11-29 06:49 UTC"+c.lost; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
