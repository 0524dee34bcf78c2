package systemtest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/needs"
)

// TestSlurm holds the slurm backend against a real Slurm, brought up on this
// machine: slurmctld, slurmd, slurmdbd, MariaDB and munge.
func TestSlurm(t *testing.T) {
	needs.System(t, "brings up a Slurm cluster as root and takes minutes")
	if os.Getenv("MUSTER_BINARY") == "" {
		t.Fatal("MUSTER_BINARY must name the muster binary; make test-system sets it")
	}
	slurmLab(t)
	t.Run("conformance", slurmConforms)
	t.Run("starter", slurmStarter)
	t.Run("detached", slurmDetached)
	t.Run("held back", slurmHeldBack)
	t.Run("preempted and requeued", slurmRequeued)
	t.Run("one element of an array", slurmElement)
	t.Run("from a smoke to an array", slurmPipeline)
	t.Run("back under a new id", slurmReturns)
	t.Run("room for a few", slurmRoom)
	t.Run("runaway chain", slurmRunaway)
	t.Run("ceiling of equal errors", slurmCeiling)
	t.Run("stopped with muster off", slurmStops)
	t.Run("own sbatch", slurmOwnSbatch)
	t.Run("5000 jobs", slurm5000)
	t.Run("walltime", slurmSegments)
	t.Run("chained to the end", slurmChainedToTheEnd)
	t.Run("one mail", slurmMail)
	t.Run("forecast", slurmForecast)
	t.Run("ends told apart", slurmEnds)
	t.Run("over ssh", slurmOverSSH)
	t.Run("line to the login node cut", slurmLinkCut)
	// What ends or stops the controller comes last, one after the other.
	t.Run("killed after sbatch", slurmKilled)
	t.Run("sbatch of a hung controller", slurmHung)
	t.Run("sbatch killed while it waits", slurmSbatchKilled)
	t.Run("sbatch fails and has submitted", slurmSbatchLies)
	t.Run("controller restarted", slurmRestarted)
	t.Run("controller hung for long", slurmHungLong)
	t.Run("munge dead", slurmNoMunge)
	t.Run("accounting dead", slurmNoAccounting)
	t.Run("ids given out again", slurmForgotten)
}

// slurmNodeThatNeverBoots is one that is powered down, in no partition until a
// test opens one: what is to start it does nothing. All others stay up.
const slurmNodeThatNeverBoots = `ResumeProgram=/bin/true
SuspendProgram=/bin/true
ResumeTimeout=8
SuspendTimeout=3
SuspendTime=86400
SuspendExcNodes=gpu[1-2],cpu[1-2]
NodeName=cloud1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=1 State=CLOUD`

// slurmLab brings the cluster up, unless SLURM_LAB_DIR names one that is.
func slurmLab(t *testing.T) {
	t.Helper()
	own := os.Getenv("SLURM_LAB_DIR") == ""
	args := []string{}
	if own {
		dir, err := os.MkdirTemp("", "muster-slurm-")
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, dir)
	}
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	defer stop()
	up := exec.CommandContext(ctx, "../lab/slurm-up", args...)
	up.Env = append(os.Environ(), "SLURM_LAB_EXTRA="+slurmNodeThatNeverBoots)
	var out, said bytes.Buffer
	up.Stdout, up.Stderr = &out, &said
	if err := up.Run(); err != nil {
		t.Fatalf("the cluster does not come up: %v\n%s", err, said.String())
	}
	for line := range strings.Lines(out.String()) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "export "); ok {
			name, value, _ := strings.Cut(v, "=")
			t.Setenv(name, strings.Trim(value, "'"))
		}
	}
	if own {
		t.Cleanup(func() {
			down := exec.Command("../lab/slurm-down", os.Getenv("SLURM_LAB_DIR"), "--wipe")
			if out, err := down.CombinedOutput(); err != nil {
				t.Errorf("the cluster does not go down: %v\n%s", err, out)
			}
		})
	}
}

// sharedDir is a folder that login and compute nodes see.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
