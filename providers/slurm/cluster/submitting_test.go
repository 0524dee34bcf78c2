package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/muster-run/muster/internal/program"
)

// TestSubmitting: an sbatch that still runs is seen however the site's is made;
// one that is not seen is taken for dead, and its array is sent a second time.
func TestSubmitting(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "batches", "a.1.0", "script.sh")
	wrapper := filepath.Join(dir, "sbatch")
	program.Write(t, wrapper, "#!/bin/sh\nread line\n")
	for name, c := range map[string]struct {
		path string
		args []string
		want bool
	}{
		"Slurm's own, by its name":              {"/bin/sh", []string{"sbatch", "-c", "read line", "--parsable", script}, true},
		"by its path, as a wrapper executes it": {"/bin/sh", []string{"/usr/bin/sbatch", "-c", "read line", "--parsable", "--hold", script}, true},
		"a wrapper that has an interpreter":     {wrapper, []string{"sbatch", "--parsable", script}, true},
		"another batch":                         {"/bin/sh", []string{"sbatch", "-c", "read line", "--parsable", script + "2"}, false},
		"somebody who reads the script":         {"/bin/sh", []string{"less", "-c", "read line", script}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			cmd := &exec.Cmd{Path: c.path, Args: c.args, Stdin: r}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			got := submitting(script)
			w.Close()
			if err := cmd.Wait(); got != c.want {
				t.Errorf("submitting = %v, want %v (%v)", got, c.want, err)
			}
		})
	}
	if submitting(script) {
		t.Error("what has ended is told to run")
	}
}
