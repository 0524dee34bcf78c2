package launch

import (
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/kernel"
	"github.com/muster-run/muster/providers/protocol"
)

// passed are the variables that a provider gets from muster's environment, beside XDG_* and
// *_proxy. All others, which may be secrets, stay out. Slurm's commands find their cluster by
// SLURM_CONF. MUSTER_LOG is the level of the log that muster reads back; MUSTER_SPOOL and
// MUSTER_QUEUE_IDLE set this machine's queue's spool and when it ends (docs/host-queue.md),
// MUSTER_HOST_BINARIES the folder of programs for hosts.
var passed = []string{"HOME", "USER", "PATH", "LANG", "TZ", "TMPDIR", "SSH_AUTH_SOCK", "SLURM_CONF", "MUSTER_LOG", "MUSTER_SPOOL", "MUSTER_QUEUE_IDLE", "MUSTER_HOST_BINARIES"}

// typeOwn are variables for providers of one type alone: keys, and where a service is.
var typeOwn = map[string][]string{
	"lambda":     {"LAMBDA_API_KEY", "LAMBDA_CLOUD_API_URL"},
	"paperspace": {"PAPERSPACE_API_KEY", "PAPERSPACE_API_URL"},
	"runpod":     {"RUNPOD_API_KEY", "RUNPOD_API_URL"},
	"vastai":     {"VAST_API_KEY", "VAST_URL"},
}

func passes(name, typ string) bool {
	return slices.Contains(passed, name) || slices.Contains(typeOwn[typ], name) || strings.HasPrefix(name, "XDG_") ||
		strings.HasSuffix(strings.ToLower(name), "_proxy")
}

// environment is the environment of a provider of a type, started by a
// process.
func environment(host []string, typ string, parent kernel.ID) []string {
	out := []string{protocol.ParentVar + "=" + parent.String()}
	for _, v := range host {
		if name, _, ok := strings.Cut(v, "="); ok && passes(name, typ) {
			out = append(out, v)
		}
	}
	return out
}
