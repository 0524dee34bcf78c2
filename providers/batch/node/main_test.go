package node

import (
	"slices"
	"testing"

	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// another is a scheduler with variables of its own, which are not set.
type another struct{ cluster.Node }

func (another) Environment() scheduler.Environment {
	return scheduler.Environment{Job: "ANOTHER_JOB", Node: "ANOTHER_NODE"}
}

// TestHere: the scheduler whose variables are set says which job a process is
// the script of, by the id that its queue prints.
func TestHere(t *testing.T) {
	for name, value := range map[string]string{"SLURM_JOB_ID": "12", "SLURM_ARRAY_JOB_ID": "9", "SLURM_ARRAY_TASK_ID": "3", "SLURM_RESTART_COUNT": "2",
		"SLURM_JOB_PARTITION": "gpu", "SLURMD_NODENAME": "n1", "SLURM_JOB_GPUS": "4", "CUDA_VISIBLE_DEVICES": "0,1", "SLURM_JOB_CPUS_PER_NODE": "16(x2),8"} {
		t.Setenv(name, value)
	}
	p := here([]scheduler.Node{another{}, cluster.Node{}})
	if p.id() != "9_3" || p.element() != 3 || p.restart != 2 || p.pool != "gpu" || p.node != "n1" || p.cores != 40 || !slices.Equal(p.gpus, []string{"0", "1"}) {
		t.Errorf("the job is %+v", p)
	}
	t.Setenv("SLURM_ARRAY_JOB_ID", "")
	if p := here([]scheduler.Node{cluster.Node{}}); p.id() != "12" {
		t.Errorf("a job that is no element has id %s", p.id())
	}
	if p := here([]scheduler.Node{another{}}); p.job != "" || p.node == "" {
		t.Errorf("outside of any job: %+v", p)
	}
}
