package warnings

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/result"
)

// mostUndigested is how many files are named.
const mostUndigested = 3

// Undigested says which files of inputs the plan did not read: whether they changed,
// and so whether done jobs run again, is not known.
func Undigested(files []result.File) []string {
	if len(files) == 0 {
		return nil
	}
	var names []string
	bytes := int64(0)
	for i, f := range files {
		if bytes += f.Size; i < mostUndigested {
			names = append(names, f.Path)
		}
	}
	what := fmt.Sprintf("%s (%s)", names[0], units.FormatSize(bytes))
	if n := len(files); n > 1 {
		if n > mostUndigested {
			names = append(names, fmt.Sprintf("%d more", n-mostUndigested))
		}
		what = fmt.Sprintf("%s, %s (%s)", units.Count(n, "file"), units.FormatSize(bytes), strings.Join(names, ", "))
	}
	them := "it"
	if len(files) > 1 {
		them = "them"
	}
	return []string{"not yet digested: " + what + ". muster apply digests " + them + " in the background and then starts the jobs that read " + them + "; jobs that are done run again only after a new plan"}
}
