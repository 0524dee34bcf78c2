package pbs_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/pbssim"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/batch/programs"
	"github.com/muster-run/muster/providers/pbs"
	"github.com/muster-run/muster/providers/pbs/cluster"
	"github.com/muster-run/muster/providers/providertest"
)

// The test binary is the commands of the stand-in for PBS, and what its nodes run.
func TestMain(m *testing.M) {
	pbssim.Main()
	if len(os.Args) > 1 && os.Args[1] == "node" {
		os.Exit(node.Main(os.Args[2:], cluster.Node{}))
	}
	os.Exit(m.Run())
}

// TestConformance runs the suite that every provider passes on the stand-in. The
// spool is all there is: a provider that was killed is one that is new.
func TestConformance(t *testing.T) {
	t.Parallel()
	server := pbssim.Start(t, pbssim.Config{Kill: 10 * time.Second})
	conform(t, t.TempDir(), server.Bin)
}

// TestSystemPBS runs the suite on a real server: run it on a machine where qsub
// submits, as a user who may. It is the one system test that may be skipped, as
// PBS's licence keeps it out of CI.
func TestSystemPBS(t *testing.T) {
	bin := "/opt/pbs/bin"
	if out, err := exec.CommandContext(t.Context(), bin+"/qstat", "-B").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no PBS server answers here, so that the pbs backend was run against its stand-in only (%v: %s)", err, out)
	}
	conform(t, t.TempDir(), bin)
}

// conform runs the suite with the commands of a folder.
func conform(t *testing.T, install, bin string) {
	syscall.ForkLock.RLock() // what is forked while it is written keeps it from running; see package program
	_, err := programs.Install(install, "")
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	environ := func() []string { return append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH")) }
	open := func() providers.Provider {
		return batch.New(batch.Options{Type: pbs.Type{Runner: cluster.Here{Environ: environ}}, Agent: []string{"node"}, Floor: 50 * time.Millisecond})
	}
	providertest.Run(t, providertest.Options{
		New: func(*testing.T) providers.Provider { return open() },
		Backend: func(t *testing.T) providers.Backend {
			return providers.Backend{Workdir: t.TempDir(), Config: []byte(`{"install_dir": "` + install + `", "queues": ["workq"], "submissions_per_minute": 60000}`)}
		},
		Restart: func(*testing.T, providers.Provider) providers.Provider { return open() },
		Timeout: 4 * time.Minute,
	})
}
