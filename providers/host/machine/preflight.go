package machine

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/spool"
	"github.com/muster-run/muster/providers/image"
	"github.com/muster-run/muster/providers/room"
)

// A Site is the machine and backend that preflight checks.
type Site struct {
	Tenant     Tenant
	Spool      string // of the queue; "" = the machine's own choice
	Environ    []providers.EnvVar
	Devices    []gpu.Device
	DevicesErr error
}

// filesOfJob is how many files muster keeps for a job in its workdir: its two logs. The
// queue's spool has the rest.
const filesOfJob = 2

// Preflight checks that jobs could run here. It creates nothing.
func Preflight(ctx context.Context, s Site, checks []providers.Check) []providers.Finding {
	var out []providers.Finding
	tell := func(check int, warning bool, summary, format string, args ...any) {
		out = append(out, providers.Finding{Check: check, Warning: warning, Summary: summary, Detail: fmt.Sprintf(format, args...)})
	}
	dir, err := s.Spool, error(nil)
	if dir == "" {
		dir, err = spool.Dir()
	}
	why := ""
	if err != nil {
		why = strings.TrimPrefix(err.Error(), "spool: ")
	} else {
		why = unusable(dir)
	}
	if why != "" {
		tell(-1, false, "The queue's spool cannot be used", "%s. %s", why, spool.Elsewhere(s.Tenant.Backend))
	} else if why := room.Full(dir); why != "" {
		out = append(out, room.Paused(-1, dir, why))
	}
	tried := s.try(ctx, checks)
	for i, c := range checks {
		workdir := s.workdir(c)
		if why := room.Unwritable(workdir); why != "" {
			out = append(out, room.Barred(i, why))
			continue
		}
		out = append(out, room.Look(i, workdir, c, filesOfJob)...)
		for _, r := range c.Require {
			if err := attempt.Required(&providers.Job{Workdir: workdir, Require: []providers.Require{r}}); err != nil {
				tell(i, false, "A required file is not there", "%v", err)
			}
		}
		if c.Shape.GPUs > 0 {
			s.gpus(i, c, tell)
		}
		if what, why := image.Missing(workdir, c.Image); what != "" {
			tell(i, false, what, "%s", why)
		}
		if what, why := image.Remote(workdir, c.Image); what != "" {
			tell(i, true, what, "%s", why)
		}
		if t := tried[trialOf(workdir, c)]; t.what != "" {
			tell(i, t.warning, t.what, "%s", t.why)
		}
	}
	if why := killedAtLogout(); why != "" {
		tell(-1, true, "Jobs may end at logout", "%s", why)
	}
	return out
}

// workdir is where the jobs of a check work.
func (s Site) workdir(c providers.Check) string {
	if c.Workdir == "" {
		return s.Tenant.Workdir
	}
	return c.Workdir
}

// unusable says why a spool could not be used, "" if it could.
func unusable(dir string) string {
	if why := room.Unwritable(dir); why != "" {
		return why
	}
	if _, err := os.Lstat(dir); err == nil {
		if err := spool.Private(dir); err != nil {
			return err.Error()
		}
	}
	return ""
}

func (s Site) gpus(i int, c providers.Check, tell func(int, bool, string, string, ...any)) {
	if s.DevicesErr != nil {
		tell(i, false, "The GPUs cannot be read", "%v", s.DevicesErr)
		return
	}
	good := 0
	for _, d := range s.Devices {
		if !s.Tenant.MayUse(d) || d.Lacks(c.Shape.GPU, c.Shape.GPUs) != "" {
			continue
		}
		if !d.Healthy {
			tell(i, true, "A GPU is not healthy", "GPU %s: %s; it will not be used", d.ID(), d.Reason)
			continue
		}
		good++
		if why := d.Zombie(s.Tenant.FreeMax()); why != "" {
			tell(i, true, "No running process holds a GPU that is in use", "%s; jobs wait until it is free", why)
		}
	}
	if absent := s.Tenant.GPUs.Absent(s.Devices); len(absent) > 0 {
		tell(i, true, "A GPU that gpus names is not there", "this machine has no GPU %s; jobs get the others", strings.Join(absent, ", "))
	}
	if good < c.Shape.GPUs {
		tell(i, false, "There are not enough healthy GPUs", "%d of %d that are needed", good, c.Shape.GPUs)
	}
}
