package remarks

import (
	"fmt"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/result"
)

// mostUndigested is how many files are named.
const mostUndigested = 5

// Undigested names the files of inputs that the plan did not read: whether they
// changed, and so whether done jobs run again, is not known.
func Undigested(files []result.File) (out []string) {
	for i, f := range files {
		if i == mostUndigested {
			return append(out, fmt.Sprintf("not yet digested: %s more", units.Count(len(files)-i, "file")))
		}
		out = append(out, fmt.Sprintf("not yet digested: %s (%s); muster apply reads it first, and jobs that read it run again if it changed", f.Path, units.FormatSize(f.Size)))
	}
	return out
}
