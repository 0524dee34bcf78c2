package offer

import (
	"path"
	"strings"
)

// RunRecord is the file that pull writes beside its copies.
const RunRecord = "muster-run.json"

// Own reports whether a slash-separated path is a file that muster writes beside a
// campaign or its results: its state, its lock file, the record of a pull. No job
// makes one, and no source contains one.
func Own(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, "muster.state.") || base == ".muster.lock.hcl" || base == RunRecord
}
