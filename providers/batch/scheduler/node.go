package scheduler

import (
	"context"
	"time"
)

// A Node is a scheduler as the script of one of its jobs sees it: the variables
// that it sets, and its commands as they run on a compute node.
type Node interface {
	Notation
	// Environment names the variables that the scheduler sets for a job's script.
	Environment() Environment
	// Requeue puts the job of the calling script back into the queue under its own
	// id, after which the scheduler ends the script. An error that wraps
	// errors.ErrUnsupported says that no job may do that: another launch then takes
	// a new job, which the engine submits. scontrol requeue; PBS's qrerun is for
	// operators alone.
	Requeue(ctx context.Context, id string) error
	// Change changes jobs that wait, or were just requeued.
	Change(ctx context.Context, jobs []Jobs, to Change) error
	// Avoid lists the nodes that the next launch of a job must not use: those of
	// this launch and those that the job avoids already. It is "" if no other node
	// would take the job, or if that is unknown.
	Avoid(ctx context.Context, l Retry) (nodes string)
	// Booted is when a node last booted; zero = unknown.
	Booted(ctx context.Context, node string) time.Time
	// CancelWaiting ends those jobs of a name that have not started.
	CancelWaiting(ctx context.Context, name string, jobs []Jobs) error
}

// A Retry is the next launch of a job whose script still runs.
type Retry struct {
	ElementID
	Node   string // that the script runs on
	Nodes  string // all of the job's, as the scheduler lists them
	Needs  int    // how many nodes the job needs, at least 1
	Script string // path of the submitted script
	More   More   // the launch's request in place of the script's
}

// An Environment is the names of a job's variables and of its control group; "" =
// the scheduler has none.
type Environment struct {
	Job      string   // variable with the id of the job: SLURM_JOB_ID; PBS_JOBID
	Array    string   // id of the array, of an element: SLURM_ARRAY_JOB_ID; PBS_ARRAY_ID
	Index    string   // of an element: SLURM_ARRAY_TASK_ID; PBS_ARRAY_INDEX
	Restarts string   // how often the job was put back: SLURM_RESTART_COUNT; PBS has none
	Pool     string   // SLURM_JOB_PARTITION; PBS_QUEUE
	Node     string   // that the script runs on: SLURMD_NODENAME; "" = ask the system
	Nodes    string   // all of the job's: SLURM_JOB_NODELIST
	GPUs     []string // one of them is set where the job was given GPUs
	Cores    string   // cores of the job on its nodes, "8" or "16(x2),8": SLURM_JOB_CPUS_PER_NODE
	// Cgroup begins the name of the control group that bounds a job's memory:
	// "job_". Without it only the group that the script is in is looked at.
	Cgroup string
	// Unwarned says that the scheduler sends no signal before a job's walltime is
	// over: the wrapper sends the checkpoint's.
	Unwarned bool
	// Patience is how long after its TERM a job's command may run, because the
	// scheduler's KILL spares processes outside of the script's session; 0 = it
	// kills them all.
	Patience time.Duration
}

// A Spanner is a Node whose jobs may have several nodes.
type Spanner interface {
	// Hosts are the names of the calling script's nodes, its own first.
	Hosts(ctx context.Context) ([]string, error)
	// Each is the command that runs another once on each of these nodes.
	Each(hosts, argv []string) []string
}

// A Counter is a Node whose scheduler has no variable for how often a job was put
// back.
type Counter interface {
	// Restarts is how often the job of an id ran before this time.
	Restarts(ctx context.Context, id string) (int, error)
}
