package local

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host"
	"github.com/muster-run/muster/providers/providertest"
)

// TestConformance holds the provider and its queue to the suite; a restart
// kills the queue, which is the process that could lose something.
func TestConformance(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var spools sync.Map // test name → its queue's folder
	providertest.Run(t, providertest.Options{
		New: func(t *testing.T) providers.Provider {
			dir, err := os.MkdirTemp("", "ml") // sockets want short paths
			if err != nil {
				t.Fatal(err)
			}
			o := host.Options{Spool: filepath.Join(dir, "s"), Command: []string{self}, Env: []string{beQueue + "=1"}, Idle: 5 * time.Second}
			spools.Store(t.Name(), o.Spool)
			l := NewWith(o)
			t.Cleanup(func() {
				_ = l.Close()
				killQueue(t, o.Spool)
				if said, _ := os.ReadFile(filepath.Join(o.Spool, "queue.err")); len(said) > 0 {
					t.Errorf("the queue said:\n%s", said)
				}
				_ = os.RemoveAll(dir)
			})
			return l
		},
		Restart: func(t *testing.T, p providers.Provider) providers.Provider {
			l := p.(*Local)
			killQueue(t, l.queue.Spool)
			_ = l.Close()
			return NewWith(l.queue)
		},
		Spool: func(t *testing.T, _ providers.Backend) []string {
			spool, _ := spools.Load(t.Name())
			return []string{spool.(string)}
		},
	})
}

// killQueue ends the queue of a spool at once, and waits until it is gone.
func killQueue(t *testing.T, spool string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(spool, "lock"))
	if errors.Is(err, os.ErrNotExist) {
		return // never needed
	}
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(b), " ")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatalf("lock: %q", b)
	}
	client := host.NewClient(host.Options{Spool: spool})
	for {
		busy, err := client.Running()
		if err != nil {
			t.Fatal(err)
		}
		if !busy {
			return
		}
		_ = syscall.Kill(pid, syscall.SIGKILL) // it holds the lock, so the pid is its own
		time.Sleep(time.Millisecond)
	}
}
