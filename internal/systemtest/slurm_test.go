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

// TestSystemSlurm holds the slurm backend against a real Slurm, brought up on
// this machine: slurmctld, slurmd, slurmdbd, MariaDB and munge.
func TestSystemSlurm(t *testing.T) {
	// Requirement: DEP-01, NOT-02
	runOnSlurm(t, []slurmPart{
		{"conformance", slurmConforms},
		{"starter", slurmStarter},
		{"results come back", slurmComeBack},
		{"detached", slurmDetached},
		{"held back", slurmHeldBack},
		{"upgraded", slurmUpgraded},
		{"watched", slurmWatched},
		{"preempted and requeued", slurmRequeued},
		{"node that dies", slurmNodeDies},
		{"not launched", slurmNotLaunched},
		{"volume that fills", slurmFull},
		{"one element of an array", slurmElement},
		{"from a smoke to an array", slurmPipeline},
		{"example of molecular dynamics", slurmMD},
		{"back under a new id", slurmReturns},
		{"ends told apart", slurmEnds},
		{"child killed for memory", slurmChildKilled},
	})
}

// TestSystemSlurmShapes has the parts about limits, the shapes of jobs and the way to
// the login node. It has a cluster of its own, so that it runs in another process
// beside TestSystemSlurm.
func TestSystemSlurmShapes(t *testing.T) {
	runOnSlurm(t, []slurmPart{
		{"walltime", slurmSegments},
		{"chained to the end", slurmChainedToTheEnd},
		{"packed", slurmPacked},
		{"packed in turns", slurmTurns},
		{"room for a few", slurmRoom},
		{"runaway chain", slurmRunaway},
		{"ceiling of equal errors", slurmCeiling},
		{"stopped with muster off", slurmStops},
		{"own sbatch", slurmOwnSbatch},
		{"one mail", slurmMail},
		{"optimisation in rounds", slurmRounds},
		{"forecast", slurmForecast},
		{"several nodes", slurmNodes},
		{"over ssh", slurmOverSSH},
		{"inputs over ssh", slurmInputs},
		{"line to the login node cut", slurmLinkCut},
	})
}

// TestSystemSlurmTimers has the parts that wait for Slurm's timers, and then those
// that end, stop or deceive its daemons. It has a cluster of its own, so that it
// runs in another process beside TestSystemSlurm.
func TestSystemSlurmTimers(t *testing.T) {
	runOnSlurm(t, []slurmPart{
		// What ends or stops the controller comes last.
		{"killed after sbatch", slurmKilled},
		{"killed before each is told its own", slurmKilledUntold},
		{"sbatch of a hung controller", slurmHung},
		{"sbatch killed while it waits", slurmSbatchKilled},
		{"sbatch killed before it has submitted", slurmNotSubmitted},
		{"sbatch fails and has submitted", slurmSbatchLies},
		{"sbatch submits and does not say so", slurmUnsaid},
		{"sbatch never submits", slurmNeverSubmits},
		{"sbatch hangs", slurmSbatchHangs},
		{"held in the queue", slurmHeldInQueue},
		{"an array that Slurm has twice", slurmSentTwice},
		{"controller restarted", slurmRestarted},
		{"controller forgets a release", slurmReleaseForgotten},
		{"controller forgets a limit", slurmThrottleForgotten},
		{"controller forgets a cancel", slurmCancelForgotten},
		{"controller hung for long", slurmHungLong},
		{"munge dead", slurmNoMunge},
		{"accounting dead", slurmNoAccounting},
		{"ids given out again", slurmForgotten},
	})
}

// TestNightlySlurm has what takes a cluster's whole attention.
func TestNightlySlurm(t *testing.T) {
	needs.Nightly(t, "submits 5,000 jobs")
	runOnSlurm(t, []slurmPart{
		{"5000 jobs", func(t *testing.T) { array5000(t, onSlurm) }},
	})
}

// A slurmPart is one subtest on a cluster that others have used before it.
type slurmPart struct {
	name string
	run  func(*testing.T)
}

// runOnSlurm brings a cluster up and runs the parts on it one after another.
func runOnSlurm(t *testing.T, parts []slurmPart) {
	needs.System(t, "brings up a Slurm cluster as root and takes minutes")
	if os.Getenv("MUSTER_BINARY") == "" {
		t.Fatal("MUSTER_BINARY must name the muster binary; make test-system sets it")
	}
	slurmLab(t)
	for _, p := range parts {
		t.Run(p.name, p.run)
	}
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
	env := append(os.Environ(), "SLURM_LAB_EXTRA="+extra)
	// They may come up at once: cgroups and the first ports are those of TestSystemSlurm.
	if from := map[string]string{"TestSystemSlurmShapes": "28100", "TestSystemSlurmTimers": "29400"}[t.Name()]; from != "" {
		env = append(env, "SLURM_LAB_FROM="+from, "SLURM_LAB_CGROUP=no")
	}
	var out, said bytes.Buffer
	up := func() error {
		out.Reset()
		cmd := exec.CommandContext(ctx, "../lab/slurm-up", args...)
		cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &said
		return cmd.Run()
	}
	err := up()
	if err != nil && own { // its database may crash as it starts; what is up stays up
		err = up()
	}
	if err != nil {
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
