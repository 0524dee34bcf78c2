package cluster

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/program"
)

// TestRunnerPath: commands are found where the login shell's PATH says, not
// where this process's does.
func TestRunnerPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program.Write(t, filepath.Join(dir, "squeue"), "#!/bin/sh\necho here\n")
	h := Here{func() []string { return []string{"PATH=/nowhere:" + dir + ":/bin:/usr/bin"} }}
	if r, err := h.Run(t.Context(), []string{"squeue"}, nil); err != nil || string(r.Out) != "here\n" {
		t.Errorf("%+v, %v", r, err)
	}
	h = Here{func() []string { return []string{"PATH=/nowhere"} }}
	if _, err := h.Run(t.Context(), []string{"squeue"}, nil); err == nil || !strings.Contains(err.Error(), "executable file not found") {
		t.Errorf("a command that is not there: %v", err)
	}
}
