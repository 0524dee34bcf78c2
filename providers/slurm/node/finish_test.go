package node

import (
	"os"
	"path/filepath"
	"testing"
)

// TestScontrolEnds: the TERM that follows a requeue reaches the scontrol that
// asked for it, too, and what was done must not count as failed.
func TestScontrolEnds(t *testing.T) {
	bin := t.TempDir()
	said := filepath.Join(bin, "said")
	if err := os.WriteFile(filepath.Join(bin, "scontrol"), []byte("#!/bin/sh\nkill -TERM $$\necho \"$@\" >> "+said+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	if err := scontrol(t.Context(), "update", "JobId=5_1", "MinMemoryNode=100"); err != nil {
		t.Error(err)
	}
	if text, _ := os.ReadFile(said); string(text) != "update JobId=5_1 MinMemoryNode=100\n" {
		t.Errorf("scontrol did %q", text)
	}
}
