package systemtest

import (
	"os"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch"
	"github.com/muster-run/muster/providers/providertest"
	"github.com/muster-run/muster/providers/slurm"
)

// slurmConforms runs the suite that every provider passes against the real
// cluster.
func slurmConforms(t *testing.T) {
	newProvider := func() *batch.Provider {
		return batch.New(batch.Options{Type: slurm.Type{}, Program: os.Getenv("MUSTER_BINARY"), Floor: 2 * time.Second})
	}
	providertest.Run(t, providertest.Options{
		New:     func(t *testing.T) providers.Provider { return newProvider() },
		Backend: func(t *testing.T) providers.Backend { return providers.Backend{Workdir: sharedDir(t)} },
		// The spool is all there is: a provider that was killed is one that is new.
		Restart: func(*testing.T, providers.Provider) providers.Provider { return newProvider() },
		Timeout: 4 * time.Minute,
		CPUs:    8, // of 128
	})
}
