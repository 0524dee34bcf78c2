package batch

import (
	"cmp"
	"fmt"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/image"
	"github.com/muster-run/muster/providers/room"
)

// filesOfJob is the number of files that muster adds for a job in its workdir: two
// logs, and the claim, the start and the end.
const filesOfJob = 2 + 4

// checkFiles checks on the login node that the workdir can be written to and has
// room, and that required files are there.
func (b *backend) checkFiles(checks []providers.Check) (out []providers.Finding) {
	for i, c := range checks {
		workdir := cmp.Or(c.Workdir, b.Workdir)
		if why := room.Unwritable(workdir); why != "" {
			out = append(out, room.Barred(i, why))
			continue
		}
		tell := func(warning bool, summary, detail string) {
			out = append(out, providers.Finding{Check: i, Warning: warning, Summary: summary, Detail: detail})
		}
		out = append(out, room.Look(i, workdir, c, filesOfJob)...)
		for _, r := range c.Require {
			if err := attempt.Required(&providers.Job{Workdir: workdir, Require: []providers.Require{r}}); err != nil {
				tell(false, "A required file is not there", err.Error())
			}
		}
		if what, why := image.Missing(workdir, c.Image); what != "" {
			tell(false, what, fmt.Sprintf("%s, looked for where %s runs", why, b.campaign.scheduler.Words().Submit))
		}
		if what, why := image.Remote(workdir, c.Image); what != "" {
			tell(true, what, why+"; whether a compute node can reach it is not known before")
		}
	}
	return out
}
