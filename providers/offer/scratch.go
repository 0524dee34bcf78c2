package offer

import (
	"path"
	"strconv"
)

// A Scratch is which files of a job are on a disk of its node's own while it runs.
type Scratch struct {
	In  []string `json:"in,omitempty"`  // inputs, which are copied there before the command
	Out []string `json:"out,omitempty"` // outputs, which are copied to their paths after it
	// Folder is the launch's own on its node's disk: known where the job starts.
	Folder string `json:"-"`
}

// ScratchMark is in a command where the launch's own folder goes: its path is known
// when the job starts.
const ScratchMark = "/@MUSTER_SCRATCH@"

// ScratchInput is where file i of n of an input is in a launch's folder.
func ScratchInput(folder, name string, i, n int, file string) string {
	if n > 1 {
		return path.Join(folder, "in", name, strconv.Itoa(i), path.Base(file))
	}
	return path.Join(folder, "in", name, path.Base(file))
}

// ScratchOutput is where the command writes an output, whose path, from the
// workdir, it keeps.
func ScratchOutput(folder, name, file string) string {
	return path.Join(folder, "out", name, file)
}
