package verify

import "github.com/muster-run/muster/providers"

// A Mark is what a file was before the first attempt of a result hash. For a
// glob or a dir it stands for the set. Times are nanoseconds.
type Mark struct {
	Exists bool   `json:"exists,omitempty"`
	Inode  uint64 `json:"inode,omitempty"` // for a set: a fold of its members
	Size   int64  `json:"size,omitempty"`  // bytes; for a set their sum
	MTime  int64  `json:"mtime,omitempty"` // for a set the latest
	CTime  int64  `json:"ctime,omitempty"` // for a set the latest
}

// A Baseline is the marks of all declared outputs of a job, by output name.
type Baseline map[string]Mark

// Take records the baseline of a job's outputs. Metrics are read from
// outputs, so that their files are among them.
func Take(workdir string, outputs []providers.Output) Baseline {
	panic("not yet")
}

// Fresh reports whether an output exists and differs from what it was when
// the baseline was taken, else why not. It uses no clock.
func (b Baseline) Fresh(workdir string, o providers.Output) (bool, string) {
	panic("not yet")
}
