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
	// OOMKills is one more than the machine's count of processes killed for memory,
	// and Init than the start time of its first process; 0 = not known. A
	// container that is restarted keeps its boot id, and has another first process.
	OOMKills int64  `json:"oom_kills,omitempty"`
	Init     uint64 `json:"init,omitempty"`
}
