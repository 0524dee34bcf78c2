package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/pbssim"
)

func TestMain(m *testing.M) {
	pbssim.Main()
	os.Exit(m.Run())
}

// The server answers its commands as soon as it says that it serves.
func TestServes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, stop := context.WithCancel(context.Background())
	r, w := io.Pipe()
	done := make(chan int)
	go func() { done <- command(ctx, []string{dir}, w, io.Discard) }()
	line := make([]byte, 1000)
	if _, err := r.Read(line); err != nil || !strings.Contains(string(line), "export PATH="+filepath.Join(dir, "bin")) {
		t.Fatalf("it says %q, %v", line, err)
	}
	out, err := exec.Command(filepath.Join(dir, "bin/qstat"), "-B").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "pbs1") {
		t.Errorf("qstat -B: %v, %s", err, out)
	}
	stop()
	select {
	case code := <-done:
		if code != 0 {
			t.Errorf("it ends with %d", code)
		}
	case <-time.After(time.Minute):
		t.Error("it does not end")
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	var errs strings.Builder
	if code := command(t.Context(), nil, io.Discard, &errs); code != 2 || !strings.Contains(errs.String(), "name the folder") {
		t.Errorf("without a folder: %d, %s", code, &errs)
	}
}
