package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunnerPath: commands are found where the login shell's PATH says, not
// where this process's does.
func TestRunnerPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "squeue"), []byte("#!/bin/sh\necho here\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	h := Here{func() []string { return []string{"PATH=/nowhere:" + dir + ":/bin:/usr/bin"} }}
	if r, err := h.Run(t.Context(), []string{"squeue"}, nil); err != nil || string(r.Out) != "here\n" {
		t.Errorf("%+v, %v", r, err)
	}
	h = Here{func() []string { return []string{"PATH=/nowhere"} }}
	if _, err := h.Run(t.Context(), []string{"squeue"}, nil); err == nil || !strings.Contains(err.Error(), "executable file not found") {
		t.Errorf("a command that is not there: %v", err)
	}
}
