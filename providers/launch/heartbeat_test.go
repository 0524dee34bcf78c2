package launch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
)

// TestStoppedProviderIsReplaced: a process that hangs is a crash like any
// other, for calls that answer once and for a watch.
func TestStoppedProviderIsReplaced(t *testing.T) {
	t.Parallel()
	l := newLauncher(t, Options{Heartbeat: time.Second})
	p := provider(t, l, "fake")
	backend, _ := configured(t, p)
	before := submit(t, p, backend, 1)[0].Handle
	seen, watched := make(chan string, 100), make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		watched <- p.Watch(ctx, providers.WatchRequest{Backend: backend}, func(b providers.Batch) error {
			seen <- b.Cursor
			return nil
		})
	}()
	for last := ""; last != "20"; { // from here on it waits for more
		select {
		case last = <-seen:
		case err := <-watched:
			t.Fatalf("the watch ended before the process was stopped: %v", err)
		}
	}
	freeze(t, l.PIDs()["fake"])
	if after := submit(t, p, backend, 1)[0].Handle; after == before {
		t.Error("the same process answered; it was stopped")
	}
	stop()
	if err := <-watched; err == nil {
		t.Error("the watch ended without an error")
	}
}

// TestClosingAStoppedProvider does not wait for its answer.
func TestClosingAStoppedProvider(t *testing.T) {
	t.Parallel()
	l := newLauncher(t, Options{})
	provider(t, l, "fake")
	pid := l.PIDs()["fake"]
	freeze(t, pid)
	l.Close() // the test's own time limit is the bound
	if syscall.Kill(pid, 0) == nil {
		t.Error("the process is still there")
	}
}

// freeze stops a process and waits until each of its threads has stopped: the
// signal is sent long before the last of them takes it.
func freeze(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for ; ; time.Sleep(time.Millisecond) {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil || len(threads) == 0 {
			t.Fatalf("threads of %d: %v, %v", pid, threads, err)
		}
		if !slices.ContainsFunc(threads, func(path string) bool {
			b, _ := os.ReadFile(path)
			_, state, _ := strings.Cut(string(b), ") ") // proc_pid_stat(5)
			return !strings.HasPrefix(state, "T")
		}) {
			return
		}
	}
}
