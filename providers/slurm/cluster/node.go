package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/providers/batch/scheduler"
)

// Node is Slurm as the script of one of its jobs sees it. Its commands run in the
// environment of the job.
type Node struct {
	Notation
	ask asker // nil = askHere
}

// An asker runs one of Slurm's read-only commands, and returns its output, times as seconds
// since 1970.
type asker func(ctx context.Context, name string, args ...string) (string, error)

func askHere(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "SBATCH_") }), "SLURM_TIME_FORMAT=%s")
	out, err := cmd.Output()
	return string(out), err
}

func (n Node) asked(ctx context.Context, name string, args ...string) (string, error) {
	if n.ask != nil {
		return n.ask(ctx, name, args...)
	}
	return askHere(ctx, name, args...)
}

// Environment is sbatch(1), OUTPUT ENVIRONMENT VARIABLES; of GPUs, gres.conf(5).
func (Node) Environment() scheduler.Environment {
	return scheduler.Environment{Job: "SLURM_JOB_ID", Array: "SLURM_ARRAY_JOB_ID", Index: "SLURM_ARRAY_TASK_ID", Restarts: "SLURM_RESTART_COUNT", Pool: "SLURM_JOB_PARTITION",
		Node: "SLURMD_NODENAME", Nodes: "SLURM_JOB_NODELIST", GPUs: []string{"SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "GPU_DEVICE_ORDINAL"}, Cores: "SLURM_JOB_CPUS_PER_NODE", Cgroup: "job_"}
}

// Hosts are the job's nodes, by scontrol(1), show hostnames. sbatch(1): "the batch script [...]
// on the first node".
func (n Node) Hosts(ctx context.Context) ([]string, error) {
	text, err := n.asked(ctx, "scontrol", "show", "hostnames", os.Getenv("SLURM_JOB_NODELIST"))
	return strings.Fields(text), err
}

// Each is srun(1) with one task on each node.
func (Node) Each(hosts, argv []string) []string {
	n := strconv.Itoa(len(hosts))
	return append([]string{"srun", "--nodes=" + n, "--ntasks=" + n, "--ntasks-per-node=1", "--nodelist=" + strings.Join(hosts, ","), "--mpi=none", "--export=ALL"}, argv...)
}

// Requeue puts the script's own job back: Slurm sends TERM, and KILL after
// KillWait. slurm.conf(5).
func (Node) Requeue(ctx context.Context, id string) error { return scontrol(ctx, "requeue", id) }

// Change changes jobs that wait.
func (n Node) Change(ctx context.Context, jobs []scheduler.Jobs, to scheduler.Change) error {
	ids := idsOf(jobs)
	for i, j := range jobs {
		if len(j.Indexes) == 1 {
			ids[i] = n.ID(scheduler.ElementID{Array: j.ID, Index: j.Indexes[0]})
		}
	}
	return scontrol(ctx, append([]string{"update", "JobId=" + strings.Join(ids, ",")}, terms(to)...)...)
}

// scontrol is run again when it was killed: the TERM that follows a requeue comes
// once and reaches all processes of the script, and what the command was to do may
// not be done yet.
func scontrol(ctx context.Context, args ...string) error {
	for try := 0; ; try++ {
		out, err := exec.CommandContext(ctx, "scontrol", args...).CombinedOutput()
		var exit *exec.ExitError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &exit) && !exit.Exited() && ctx.Err() == nil && try < 2:
			continue
		}
		return fmt.Errorf("scontrol %s: %w: %s", args[0], err, lastLine(out))
	}
}

// Booted is when a node came up, as slurmctld has it.
func (n Node) Booted(ctx context.Context, node string) time.Time {
	now, err := n.asked(ctx, "scontrol", "-o", "show", "node", node)
	if err != nil {
		return time.Time{}
	}
	for f := range strings.FieldsSeq(now) {
		if at, ok := strings.CutPrefix(f, "BootTime="); ok {
			if boot, err := strconv.ParseInt(at, 10, 64); err == nil {
				return time.Unix(boot, 0)
			}
			return time.Time{}
		}
	}
	return time.Time{}
}

// CancelWaiting ends jobs of a name that wait. Ids are given out again: the name
// says whose they are. Of an array squeue says it: a scancel that chooses by name
// or state ends the whole of one whose elements share one record.
func (n Node) CancelWaiting(ctx context.Context, name string, jobs []scheduler.Jobs) error {
	for _, j := range jobs {
		if j.Indexes == nil {
			if err := scancel(ctx, "--state=PENDING", "--name="+name, "--", j.ID); err != nil {
				return err
			}
			continue
		}
		rows, err := n.asked(ctx, "squeue", "-h", "-r", "-t", "PENDING", "-n", name, "-o", "%F_%K")
		if err != nil {
			return err
		}
		waiting := strings.Fields(rows)
		var list []string
		for _, index := range j.Indexes {
			if slices.Contains(waiting, n.ID(scheduler.ElementID{Array: j.ID, Index: index})) {
				list = append(list, strconv.Itoa(index))
			}
		}
		if len(list) == 0 {
			continue
		}
		if err := scancel(ctx, "--", j.ID+"_["+strings.Join(list, ",")+"]"); err != nil {
			return err
		}
	}
	return nil
}

func scancel(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, "scancel", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, lastLine(out))
	}
	return nil
}

func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}
