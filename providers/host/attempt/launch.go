package attempt

import (
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/cgroup"
	"github.com/muster-run/muster/providers/host/monotonic"
)

// An Intent is that of a start, in the log before the process is there.
type Intent struct {
	ID string `json:"id"`
	monotonic.Stamp
	GPUs []string `json:"gpus,omitempty"`
	// Stalled is why it was ended as stalled; "" if it was not.
	Stalled string `json:"stalled,omitempty"`
	// Checkpoint is the mark of the checkpoint before the launch, which shows later whether it
	// moved.
	Checkpoint int64        `json:"ckpt,omitempty"`
	Cgroup     cgroup.Group `json:"cgroup,omitempty"`
	Cancelled  bool         `json:"cancelled,omitempty"`
	Scratch    string       `json:"scratch,omitempty"` // its folder on the node's disk
	// Late are the inputs without digests in the job's specification, and Digests the digests
	// found for them.
	Late    []providers.Input `json:"late,omitempty"`
	Digests map[string]string `json:"digests,omitempty"`
	// OOMKills is one more than the machine's count of processes killed for memory,
	// and Init than the start time of its first process; 0 = not known. A
	// container that is restarted keeps its boot id, and has another first process.
	OOMKills int64  `json:"oom_kills,omitempty"`
	Init     uint64 `json:"init,omitempty"`
}
