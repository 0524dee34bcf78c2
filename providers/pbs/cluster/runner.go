package cluster

import (
	"context"
	"strings"

	"github.com/muster-run/muster/providers/batch/command"
)

// Here runs PBS's commands on this machine, which then is a login node or the node
// of a job.
type Here struct {
	// Environ is the environment of commands as "NAME=value"; nil = this process's.
	Environ func() []string
	// Own are the site's programs that are run in place of PBS's, by command.
	Own map[string]string
}

// Programs are the commands that muster runs on a login node.
var Programs = []string{"qsub", "qstat", "qselect", "qdel", "qalter", "qhold", "qrls", "pbsnodes"}

// siteDefault reports whether a variable is a job's, or changes the behaviour of
// commands and does not name the server. qsub(1B), ENVIRONMENT VARIABLES.
func siteDefault(name string) bool {
	switch name {
	case "PBS_CONF_FILE", "PBS_EXEC", "PBS_DEFAULT", "PBS_SERVER":
		return false
	}
	return strings.HasPrefix(name, "PBS_") || strings.HasPrefix(name, "QSUB_") || name == "TZ"
}

// Run runs a command with times in UTC: the commands print them in the zone of
// their environment, without its name.
func (h Here) Run(ctx context.Context, argv []string, stdin []byte) (command.Result, error) {
	return command.Here(ctx, h.Own, argv, append(command.Environ(h.Environ, siteDefault), "TZ=UTC"), stdin)
}
