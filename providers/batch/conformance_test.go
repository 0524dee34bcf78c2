package batch_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/batch/programs"
	"github.com/muster-run/muster/providers/providertest"
)

// The toy's nodes run the test binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "node" {
		os.Exit(node.Main(os.Args[2:], toyNode{}))
	}
	os.Exit(m.Run())
}

// TestConformance holds package batch to the suite that every provider passes, on
// a scheduler that is not Slurm. The spool is all there is: a provider that was
// killed is one that is new.
func TestConformance(t *testing.T) {
	// Requirement: STA-06
	t.Parallel()
	install := t.TempDir()
	syscall.ForkLock.RLock() // what is forked while it is written keeps it from running; see package program
	_, err := programs.Install(install, "")
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	type site struct {
		providers.Provider
		toy *toy
	}
	open := func(y *toy) *site {
		return &site{batch.New(batch.Options{Type: y, Agent: []string{"node"}, Floor: 50 * time.Millisecond}), y}
	}
	providertest.Run(t, providertest.Options{
		New:     func(*testing.T) providers.Provider { return open(&toy{install: install}) },
		Restart: func(_ *testing.T, p providers.Provider) providers.Provider { return open(p.(*site).toy) },
		Timeout: 4 * time.Minute,
	})
}
