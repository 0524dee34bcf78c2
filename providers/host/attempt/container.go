package attempt

import (
	"path/filepath"
	"strings"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/providers"
)

// daemons run containers in control groups and with limits of their own, outside of the job
// that starts them. Others (apptainer, enroot) run them as the job's own processes unless
// their options set limits.
var (
	daemons = lazyregexp.New(`(?m)(^|[\s;&|(/])(docker|podman|nerdctl)\s+(run|exec|start|compose|container)(\s|$)`)
	limited = lazyregexp.New(`(?m)(^|[\s;&|(/])(apptainer|singularity)\s+(run|exec|instance)\b[^\n;&|]*\s--(memory|apply-cgroups)\b`)
)

// Container names the runtime whose containers a job runs with limits of
// their own, "" if it runs none.
func Container(j *providers.Job) string {
	text := j.Shell
	if len(j.Argv) > 0 {
		text = strings.Join(append([]string{filepath.Base(j.Argv[0])}, j.Argv[1:]...), " ")
	}
	for _, re := range []*lazyregexp.Regexp{daemons, limited} {
		if m := re.FindStringSubmatch(text); m != nil {
			return m[2]
		}
	}
	return ""
}
