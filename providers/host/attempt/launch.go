package attempt

import (
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/boot"
	"github.com/muster-run/muster/providers/host/cgroup"
)

// A Launch is the intent of a start, in the log before the process is there.
type Launch struct {
	ID string `json:"id"`
	boot.Mark
	GPUs []string `json:"gpus,omitempty"`
	// Stalled is why it was ended as stalled; "" if it was not.
	Stalled string `json:"stalled,omitempty"`
	// Checkpoint is what the checkpoint was, to see whether it moved.
	Checkpoint int64        `json:"ckpt,omitempty"`
	Cgroup     cgroup.Group `json:"cgroup,omitempty"`
	Cancelled  bool         `json:"cancelled,omitempty"`
	// Late are the inputs whose digests the job's own specification has not, and
	// Digests what came of them.
	Late    []providers.Input `json:"late,omitempty"`
	Digests map[string]string `json:"digests,omitempty"`
}
