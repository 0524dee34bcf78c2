package local

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host"
	"github.com/muster-run/muster/providers/host/hosttest"
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
				hosttest.Kill(t, o.Spool)
				if said, _ := os.ReadFile(filepath.Join(o.Spool, "queue.err")); len(said) > 0 {
					t.Errorf("the queue said:\n%s", said)
				}
				_ = os.RemoveAll(dir)
			})
			return l
		},
		Restart: func(t *testing.T, p providers.Provider) providers.Provider {
			l := p.(*Local)
			hosttest.Kill(t, l.queue.Spool)
			_ = l.Close()
			return NewWith(l.queue)
		},
		Spool: func(t *testing.T, _ providers.Backend) []string {
			spool, _ := spools.Load(t.Name())
			return []string{spool.(string)}
		},
	})
}
