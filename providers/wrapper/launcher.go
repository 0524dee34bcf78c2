package wrapper

import (
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// Ports that a job's processes find each other by: above those of services, and below those that
// Linux gives out by itself. ip(7), ip_local_port_range.
const (
	firstPort = 20000
	ports     = 10000
)

// hostValues are the values of a job's hosts, by their names below job.
func hostValues(j *providers.Job, hosts []string) map[string]string {
	return map[string]string{
		"hosts": strings.Join(hosts, ","), "master": hosts[0], "nodes": strconv.Itoa(len(hosts)),
		"port": strconv.Itoa(firstPort + int(crc32.ChecksumIEEE([]byte(j.Token))%ports)),
	}
}

// OnHosts is a job as its command sees it, with the names of its hosts.
func OnHosts(j *providers.Job, hosts []string) *providers.Job {
	if !j.Launched() || len(hosts) == 0 {
		return j
	}
	values := hostValues(j, hosts)
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		pairs = append(pairs, offer.JobMarks[name], values[name])
	}
	return Replaced(j, strings.NewReplacer(pairs...))
}

// Replaced is a job with other texts in its command, its setup and its variables.
func Replaced(j *providers.Job, r *strings.Replacer) *providers.Job {
	texts := func(list []string) []string {
		out := slices.Clone(list)
		for i := range out {
			out[i] = r.Replace(out[i])
		}
		return out
	}
	run := *j
	run.Shell, run.Argv, run.Setup = r.Replace(j.Shell), texts(j.Argv), texts(j.Setup)
	run.Env = slices.Clone(j.Env)
	for i := range run.Env {
		run.Env[i].Value = r.Replace(run.Env[i].Value)
	}
	return &run
}

// launcher is shell source that replaces the shell with a job's launcher, which starts the file
// rank on every host. Of mpiexec there are two: that of Open MPI, and those of MPICH and its kin.
func launcher(j *providers.Job) string {
	ranks := j.Ranks(j.Shape)
	nodes := max(j.Shape.Nodes, 1)
	cores := max(max(j.Shape.CPUs, 1)/(nodes*ranks), 1)
	srun := func(n, cores int) string {
		return fmt.Sprintf(`set -- srun --nodes="$MUSTER_NODES" --ntasks=$((MUSTER_NODES * %d)) --ntasks-per-node=%d --cpus-per-task=%d --nodelist="$MUSTER_HOSTS" --kill-on-bad-exit=1 "$@"`, n, n, cores)
	}
	mpiexec := func(n int) string {
		return fmt.Sprintf(`export -p >"$MUSTER_JOB/environ"
echo "$MUSTER_HOSTS" | tr , '\n' >"$MUSTER_JOB/hosts"
case $(mpiexec --version 2>/dev/null) in
*"Open MPI"* | *OpenRTE* | *PRTE*) set -- --map-by ppr:%d:node "$@" ;;
*) set -- --ppn %d "$@" ;;
esac
set -- mpiexec --hostfile "$MUSTER_JOB/hosts" -n $((MUSTER_NODES * %d)) "$@"`, n, n, n)
	}
	lines := []string{`if [ $# -eq 0 ]; then set -- /bin/sh "$MUSTER_JOB/cmd"; fi`, `set -- /bin/sh "$MUSTER_JOB/rank" "$@"`}
	switch j.Launcher {
	case "srun":
		lines = append(lines, srun(ranks, cores))
	case "mpiexec":
		lines = append(lines, mpiexec(ranks))
	case "torchrun":
		lines = append(lines, fmt.Sprintf(`set -- torchrun --nnodes="$MUSTER_NODES" --nproc-per-node=%d --rdzv-backend=c10d --rdzv-endpoint="$MUSTER_MASTER:$MUSTER_PORT" --rdzv-id="$MUSTER_TOKEN" --no-python "$@"`, ranks),
			`if [ "$MUSTER_NODES" -gt 1 ]; then`, `if [ -n "$SLURM_JOB_ID" ]; then`, srun(1, max(max(j.Shape.CPUs, 1)/nodes, 1)), `else`, mpiexec(1), `fi`, `fi`)
	}
	return strings.Join(append(lines, `exec "$@"`), "\n") + "\n"
}

// ranksOf are the variables in which a launcher's processes find their number, their number on
// their node, and how many there are.
var ranksOf = map[string][3]string{
	"srun":     {"${SLURM_PROCID}", "${SLURM_LOCALID}", "${SLURM_NTASKS}"},
	"torchrun": {"${RANK}", "${LOCAL_RANK}", "${WORLD_SIZE}"},
	"mpiexec": {"${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-${PMIX_RANK}}}", "${PMI_LOCAL_RANK:-${OMPI_COMM_WORLD_LOCAL_RANK:-${PALS_LOCAL_RANKID:-${MPI_LOCALRANKID}}}}",
		"${PMI_SIZE:-${OMPI_COMM_WORLD_SIZE}}"},
}

// rank is the script of one process of a launcher: it sets the process's number, also by the names
// that PyTorch reads (torch.distributed, env://), and becomes the command.
func rank(j *providers.Job) string {
	of := ranksOf[j.Launcher]
	return fmt.Sprintf(`MUSTER_JOB=${0%%/*}
set -- "%s" "%s" "%s" "$@"
if [ -f "$MUSTER_JOB/environ" ]; then . "$MUSTER_JOB/environ"; fi
cd "$PWD" || exit 1
export MUSTER_RANK="${1:-0}" MUSTER_LOCAL_RANK="${2:-0}" MUSTER_RANKS="${3:-1}"
export RANK="$MUSTER_RANK" LOCAL_RANK="$MUSTER_LOCAL_RANK" WORLD_SIZE="$MUSTER_RANKS"
if [ -z "$TORCHELASTIC_RUN_ID" ]; then export MASTER_ADDR="$MUSTER_MASTER" MASTER_PORT="$MUSTER_PORT"; fi
shift 3
if [ -f "$MUSTER_JOB/image" ]; then . "$MUSTER_JOB/image"; fi
exec "$@"
`, of[0], of[1], of[2])
}
