package cluster

import (
	"context"
	"slices"
	"strings"

	"github.com/muster-run/muster/providers/batch/command"
)

// Here runs Slurm's commands on this machine, which then is a login node.
type Here struct {
	// Environ is the environment of commands as "NAME=value", without variables
	// that change their output; nil = this process's.
	Environ func() []string
	// Own are the site's programs that are run in place of Slurm's, by command.
	Own map[string]string
}

// Programs are the commands that muster runs on a login node.
var Programs = []string{"sbatch", "squeue", "sacct", "sinfo", "scontrol", "scancel", "sacctmgr"}

// siteDefault reports whether sites and people change the output and the
// requests of Slurm's commands by a variable. squeue(1), sacct(1), sbatch(1),
// ENVIRONMENT.
func siteDefault(name string) bool {
	for _, prefix := range []string{"SLURM_", "SQUEUE_", "SACCT_", "SINFO_", "SBATCH_", "SCONTROL_", "SALLOC_", "SRUN_"} {
		if strings.HasPrefix(name, prefix) {
			return name != "SLURM_CONF"
		}
	}
	return false
}

func (h Here) Run(ctx context.Context, argv []string, stdin []byte) (command.Result, error) {
	env := command.Environ(h.Environ, siteDefault)
	if argv[0] != "sbatch" || slices.Contains(argv, "--test-only") { // these two would reach the job
		env = append([]string{"SLURM_TIME_FORMAT=%s", "SLURM_BITSTR_LEN=0"}, env...)
	}
	return command.Here(ctx, h.Own, argv, env, stdin)
}

// parsable makes sbatch print an id and nothing else. All that muster submits
// has it, and next to nothing that a person does.
const parsable = "--parsable"

// submitting reports whether an sbatch of a script still runs on this machine.
func submitting(script string) bool { return command.Running(parsable, script) }
