package wrapper

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// The launchers as far as a job sees them: each starts two processes with the numbers
// that the real one gives, and writes down what it was told.
var launchers = map[string]string{
	"srun": `#!/bin/sh
echo "srun $*" >>"$TOLD"
while :; do case $1 in --*) shift ;; *) break ;; esac; done
for i in 0 1; do SLURM_PROCID=$i SLURM_LOCALID=$i SLURM_NTASKS=2 "$@" || exit; done
`,
	"mpiexec": `#!/bin/sh
[ "$1" != --version ] || { echo "$MPI"; exit; }
echo "mpiexec $*" >>"$TOLD"
while :; do case $1 in --hostfile | -n | --ppn | --map-by) shift 2 ;; *) break ;; esac; done
for i in 0 1; do env -i PATH="$PATH" TOLD="$TOLD" PMI_RANK=$i PMI_LOCAL_RANK=$i PMI_SIZE=2 "$@" || exit; done
`,
	"torchrun": `#!/bin/sh
echo "torchrun $*" >>"$TOLD"
while :; do case $1 in --*) shift ;; *) break ;; esac; done
for i in 0 1; do RANK=$i LOCAL_RANK=$i WORLD_SIZE=2 TORCHELASTIC_RUN_ID=x MASTER_ADDR=its-own "$@" || exit; done
`,
}

// TestLaunchers: the command runs once for each rank, with its number, the hosts and the
// job's own environment, as a text and as a list.
func TestLaunchers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		launcher, mpi, slurm string
		told                 []string // each of the line with its index
	}{
		{"srun", "", "7", []string{"srun --nodes=2 --ntasks=4 --ntasks-per-node=2 --cpus-per-task=2 --nodelist=n1,n2 --kill-on-bad-exit=1 /bin/sh"}},
		{"mpiexec", "mpiexec (Open MPI) 4.1.4", "", []string{"mpiexec --hostfile FOLDER/hosts -n 4 --map-by ppr:2:node /bin/sh"}},
		{"mpiexec", "HYDRA build details:", "", []string{"mpiexec --hostfile FOLDER/hosts -n 4 --ppn 2 /bin/sh"}},
		{"torchrun", "", "7", []string{"srun --nodes=2 --ntasks=$((MUSTER_NODES * 1))", "torchrun --nnodes=2 --nproc-per-node=2 --rdzv-backend=c10d --rdzv-endpoint=n1:"}},
		{"torchrun", "HYDRA", "", []string{"mpiexec --hostfile FOLDER/hosts -n 2 --ppn 1 torchrun"}},
	} {
		for _, list := range []bool{false, true} {
			t.Run(c.launcher+c.mpi+c.slurm, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				for name, text := range launchers {
					program.Write(t, filepath.Join(dir, name), text)
				}
				told := filepath.Join(dir, "told")
				j := &providers.Job{Token: "0123456789", Workdir: dir, Dir: dir, Process: offer.Process{Launcher: c.launcher, RanksPerNode: 2}, Shape: offer.Shape{CPUs: 8, Nodes: 2},
					Setup: []string{"export SET=up; PATH=" + shell.Enclose(dir) + ":$PATH"},
					Env:   []providers.EnvVar{{Name: "TOLD", Value: told}, {Name: "MPI", Value: c.mpi}, {Name: "SLURM_JOB_ID", Value: c.slurm}, {Name: "AT", Value: offer.JobMarks["master"]}}}
				line := "echo " + offer.JobMarks["rank"] + " $MUSTER_LOCAL_RANK $MUSTER_RANKS $RANK $WORLD_SIZE $MASTER_ADDR $SET $AT " + offer.JobMarks["hosts"] + " " + offer.JobMarks["nodes"] + " >>ran"
				if j.Shell = line; list {
					j.Shell, j.Argv = "", []string{"sh", "-c", line}
				}
				hosts := []string{"n1", "n2"}
				run := OnHosts(j, hosts)
				f := fill(t, run)
				script, err := Install(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command("/bin/sh", append([]string{script}, run.Argv...)...)
				cmd.Env = Environ(run, []providers.EnvVar{{Name: "PATH", Value: os.Getenv("PATH")}}, Start{Folder: f, Launch: "l", Hosts: hosts})
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				ran, _ := os.ReadFile(filepath.Join(dir, "ran"))
				for i, line := range strings.Split(strings.TrimSpace(string(ran)), "\n") {
					w := strings.Fields(line)
					if want := []string{string("01"[i%2]), string("01"[i%2]), "2", string("01"[i%2]), "2"}; len(w) < 10 || !slices.Equal(w[:5], want) || !slices.Equal(w[len(w)-4:], []string{"up", "n1", "n1,n2", "2"}) {
						t.Errorf("process %d saw %q", i, line)
					}
				}
				text, _ := os.ReadFile(told)
				for _, want := range c.told {
					want = strings.NewReplacer("FOLDER", string(f), "$((MUSTER_NODES * 1))", "2").Replace(want)
					if !strings.Contains(string(text), want) {
						t.Errorf("the launcher was told\n%swant %s", text, want)
					}
				}
			})
		}
	}
}
