// Package gputest simulates GPUs for tests on machines without any: a shared
// library with NVML's symbols and a stand-in nvidia-smi, both controlled by a
// text file that a test may rewrite while jobs run.
package gputest

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/internal/program"
)

//go:embed testdata/nvml.c
var nvml string

//go:embed testdata/nvidia-smi
var smi string

// Env names the variable that holds the path of the stand-ins' state; its
// form is described in testdata/nvml.c.
const Env = "MUSTER_FAKE_NVML"

// Library builds the stand-in library, sets Env to a file with this state,
// and returns the library's path. A process that is started with the
// library's folder in LD_LIBRARY_PATH, and with Env, finds it by itself.
// It needs a C compiler.
func Library(t testing.TB, state string) (path string, set func(state string)) {
	t.Helper()
	dir := t.TempDir()
	cc := needs.Program(t, "cc")
	source, path := filepath.Join(dir, "nvml.c"), filepath.Join(dir, "libnvidia-ml.so.1")
	write(t, source, nvml)
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-Wall", "-o", path, source).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	return path, State(t, dir, state)
}

// SMI writes the stand-in nvidia-smi, sets Env to a file with this state, and
// returns its path.
func SMI(t testing.TB, state string) (path string, set func(state string)) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, "nvidia-smi")
	program.Write(t, path, smi)
	return path, State(t, dir, state)
}

// State sets Env to a file in dir with this state and returns a function that
// replaces the whole state.
func State(t testing.TB, dir, state string) (set func(state string)) {
	t.Helper()
	path := filepath.Join(dir, "gpus.txt")
	set = func(state string) {
		t.Helper()
		if err := atomicfile.WriteCache(path, []byte(state)); err != nil {
			t.Fatal(err)
		}
	}
	set(state)
	t.Setenv(Env, path)
	return set
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
