package jobspec

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/providers"
)

//go:embed drill.sh
var drillScript string

// drill puts the drill of a job's checkpoint around its command: one launch of the
// job launches the command, ends it as a preemption does once its checkpoint is
// there, and launches it again. It runs wherever the job runs.
func drill(job *providers.Job) {
	words := []string{"/bin/sh", "-c", shell.Enclose(job.Shell)}
	if len(job.Argv) > 0 {
		words = nil
		for _, w := range job.Argv {
			words = append(words, shell.Quote(w))
		}
	}
	signal, grace := "TERM", 0
	if c := job.Checkpoint; c.Signal != "" {
		signal, grace = c.Signal, int(c.Grace.Seconds())
	}
	job.Argv = nil
	job.Shell = fmt.Sprintf("_muster_signal=%s _muster_grace=%d\n_muster_launch() {\n\tMUSTER_RESTART=$1 MUSTER_ATTEMPT=$(($1 + 1)) %s\n}\nexec 7>&1\n%s",
		signal, grace, strings.Join(words, " "), drillScript)
}
