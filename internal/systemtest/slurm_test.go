package systemtest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
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
	t.Run("node that dies", slurmNodeDies)
	t.Run("not launched", slurmNotLaunched)
	t.Run("volume that fills", slurmFull)
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
	t.Run("killed before each is told its own", slurmKilledUntold)
	t.Run("sbatch of a hung controller", slurmHung)
	t.Run("sbatch killed while it waits", slurmSbatchKilled)
	t.Run("sbatch killed before it has submitted", slurmNotSubmitted)
	t.Run("sbatch fails and has submitted", slurmSbatchLies)
	t.Run("an array that Slurm has twice", slurmSentTwice)
	t.Run("controller restarted", slurmRestarted)
	t.Run("controller forgets a release", slurmReleaseForgotten)
	t.Run("controller forgets a limit", slurmThrottleForgotten)
	t.Run("controller forgets a cancel", slurmCancelForgotten)
	t.Run("controller hung for long", slurmHungLong)
	t.Run("munge dead", slurmNoMunge)
	t.Run("accounting dead", slurmNoAccounting)
	t.Run("ids given out again", slurmForgotten)
}

// slurmNodesThatNeverBoot are powered down, and in no partition until a test
// opens one: what is to start them does nothing. All others stay up.
const slurmNodesThatNeverBoot = `ResumeProgram=/bin/true
SuspendProgram=/bin/true
ResumeTimeout=30
SuspendTimeout=3
SuspendTime=86400
SuspendExcNodes=gpu[1-2],cpu[1-2]
NodeName=cloud1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=1 State=CLOUD
NodeName=cloud2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=2 State=CLOUD`

// slurmLab brings the cluster up, unless SLURM_LAB_DIR names one that is.
func slurmLab(t *testing.T) {
	t.Helper()
	own := os.Getenv("SLURM_LAB_DIR") == ""
	args, extra := []string{}, slurmNodesThatNeverBoot
	if own {
		dir, err := os.MkdirTemp("", "muster-slurm-")
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, dir)
		extra += slurmProlog(t, dir)
		keepSlurm(t, dir)
	}
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	defer stop()
	up := exec.CommandContext(ctx, "../lab/slurm-up", args...)
	up.Env = append(os.Environ(), "SLURM_LAB_EXTRA="+extra)
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
}

// keepSlurm takes the cluster in a folder away, and the folder, when the test
// has ended: also where it was killed, or ran out of its time.
func keepSlurm(t *testing.T, dir string) {
	t.Helper()
	keep := exec.Command("../lab/slurm-keep", dir)
	keep.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var said bytes.Buffer
	keep.Stdout, keep.Stderr = &said, &said
	gone, err := keep.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := keep.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		gone.Close()
		if err := keep.Wait(); err != nil || exists(dir) {
			t.Errorf("the cluster in %s does not go away: %v\n%s", dir, err, said.String())
		}
	})
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
