package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/providers/batch/scheduler"
)

// Node is PBS as the script of one of its jobs sees it.
type Node struct{ Notation }

// here are PBS's commands on a compute node, in the environment of the job.
// The job's PATH may lack them, and PBS_O_PATH is that of its qsub.
func here() *Commands {
	environ := func() []string {
		return append(os.Environ(), "PATH="+os.Getenv("PATH")+":"+os.Getenv("PBS_O_PATH"))
	}
	return New(Here{Environ: environ}, "")
}

// patience leaves the wrapper time to record the end within kill_delay, which is
// 10 s by default. pbs_queue_attributes(7B); seen on 23.06: a process in another
// session outlives the job.
const patience = 6 * time.Second

// Environment is qsub(1B), ENVIRONMENT VARIABLES. The hook for control groups sets
// CUDA_VISIBLE_DEVICES; where a site has none, nothing says which GPUs are a job's.
func (Node) Environment() scheduler.Environment {
	return scheduler.Environment{Job: "PBS_JOBID", Array: "PBS_ARRAY_ID", Index: "PBS_ARRAY_INDEX", Pool: "PBS_QUEUE", GPUs: []string{"CUDA_VISIBLE_DEVICES"}, Cores: "NCPUS",
		Unwarned: true, Patience: patience}
}

// Hosts are in the file that PBS writes, with one line for each MPI process: qsub(1B),
// PBS_NODEFILE. The script runs on the first.
func (Node) Hosts(context.Context) (hosts []string, err error) {
	text, err := os.ReadFile(os.Getenv("PBS_NODEFILE"))
	for _, name := range strings.Fields(string(text)) {
		if !slices.Contains(hosts, name) {
			hosts = append(hosts, name)
		}
	}
	return hosts, err
}

// Each is pbsdsh(1B), which runs a program on each chunk of the job.
func (Node) Each(_, argv []string) []string { return append([]string{"pbsdsh", "--"}, argv...) }

// Requeue is for operators alone. Seen on 23.06.
func (Node) Requeue(context.Context, string) error { return errors.ErrUnsupported }

// Change follows a requeue only.
func (Node) Change(context.Context, []scheduler.Jobs, scheduler.Change) error {
	return errors.ErrUnsupported
}

// Avoid: PBS takes no list of nodes to avoid.
func (Node) Avoid(context.Context, scheduler.Retry) string { return "" }

// Booted: pbsnodes does not say.
func (Node) Booted(context.Context, string) time.Time { return time.Time{} }

// CancelWaiting ends those jobs of a name that wait.
func (Node) CancelWaiting(ctx context.Context, name string, jobs []scheduler.Jobs) error {
	return here().CancelWaiting(ctx, name, jobs)
}

// Restarts is how often PBS has run a job before this time: run_count has no
// variable.
func (Node) Restarts(ctx context.Context, id string) (int, error) {
	all, err := here().jobs(ctx, []string{id})
	if err != nil {
		return 0, err
	}
	j, ok := all[id]
	if !ok || j["run_count"].int() < 1 {
		return 0, fmt.Errorf("qstat does not say how often %s has run", id)
	}
	return j["run_count"].int() - 1, nil
}
