package command

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/program"
)

// TestPath: commands are found where the login shell's PATH says, not
// where this process's does.
func TestPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program.Write(t, filepath.Join(dir, "squeue"), "#!/bin/sh\necho here\n")
	if r, err := Here(t.Context(), nil, []string{"squeue"}, []string{"PATH=/nowhere:" + dir + ":/bin:/usr/bin"}, nil); err != nil || string(r.Out) != "here\n" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := Here(t.Context(), nil, []string{"squeue"}, []string{"PATH=/nowhere"}, nil); err == nil || !strings.Contains(err.Error(), "executable file not found") {
		t.Errorf("a command that is not there: %v", err)
	}
}
