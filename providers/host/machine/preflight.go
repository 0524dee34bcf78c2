package machine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/spool"
	"github.com/muster-run/muster/providers/image"
)

// A Site is what preflight looks at.
type Site struct {
	Place      Place
	Spool      string // of the queue; "" = the machine's own choice
	Environ    []providers.EnvVar
	Devices    []gpu.Device
	DevicesErr error
}

// inodesFull is the share of its inodes in use from which on a file system is full.
const inodesFull = 0.99

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
	if err == nil {
		if why := unusable(dir); why != "" {
			tell(-1, false, "The queue's spool cannot be used", "%s. Mend that, or name a directory on a local disk as spool in the block of backend.%s", why, s.Place.Backend)
		} else if why := room(dir, 0); why != "" {
			tell(-1, false, "The queue's spool has no room", "%s: %s; make room, or name a directory on another local disk as spool in the block of backend.%s", dir, why, s.Place.Backend)
		}
	}
	tried := s.try(ctx, checks)
	for i, c := range checks {
		workdir := s.workdir(c)
		if why := writable(workdir); why != "" {
			tell(i, false, "Workdir cannot be used", "%s", why)
			continue
		}
		if why := room(workdir, c.Disk); why != "" {
			tell(i, false, "There is no room for results", "%s: %s", workdir, why)
		} else if why := short(workdir, c.Keep); why != "" {
			tell(i, true, "There may be no room for everything", "%s: %s", workdir, why)
		}
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
		return s.Place.Workdir
	}
	return c.Workdir
}

// writable says why a folder could not be written to, "" if it could: it is
// there, or its nearest parent would take it.
func writable(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		fi, err := os.Stat(at)
		switch {
		case err == nil && !fi.IsDir():
			return at + " is not a directory"
		case err == nil:
			if err := unix.Access(at, unix.W_OK|unix.X_OK); err != nil {
				return fmt.Sprintf("%s cannot be written to: %v", at, err)
			}
			return ""
		case !errors.Is(err, os.ErrNotExist) || at == filepath.Dir(at):
			return err.Error()
		}
	}
}

// unusable says why a spool could not be used, "" if it could.
func unusable(dir string) string {
	if why := writable(dir); why != "" {
		return why
	}
	if _, err := os.Lstat(dir); err == nil {
		if err := spool.Private(dir); err != nil {
			return err.Error()
		}
	}
	return ""
}

// room says why a file system is too full, "" if it is not.
func room(dir string, need int64) string {
	var st unix.Statfs_t
	for at := dir; unix.Statfs(at, &st) != nil; at = filepath.Dir(at) {
		if at == filepath.Dir(at) {
			return ""
		}
	}
	free := int64(st.Bavail) * int64(st.Bsize)
	switch {
	case st.Blocks > 0 && st.Bavail == 0 && need > 0:
		return fmt.Sprintf("the disk is full, and the jobs still to be done need %s; make room, or let workdir be on a larger volume", disk(need))
	case need > 0 && free < need:
		return fmt.Sprintf("%s free of %s needed by the jobs still to be done; make room, or let workdir be on a larger volume", disk(free), disk(need))
	case st.Blocks > 0 && st.Bavail == 0:
		return "the disk is full"
	case st.Files > 0 && float64(st.Files-st.Ffree) >= inodesFull*float64(st.Files):
		return fmt.Sprintf("%d of %d inodes are in use; no more files can be made", st.Files-st.Ffree, st.Files)
	}
	return ""
}

// short says that a file system has less room than jobs may come to need, ""
// if it has enough.
func short(dir string, need int64) string {
	var st unix.Statfs_t
	for at := dir; unix.Statfs(at, &st) != nil; at = filepath.Dir(at) {
		if at == filepath.Dir(at) {
			return ""
		}
	}
	if free := int64(st.Bavail) * int64(st.Bsize); free < need {
		return fmt.Sprintf("%s free, and %s would be needed if each job still to be done kept all of the disk that it declares", disk(free), disk(need))
	}
	return ""
}

// disk is a size as people write it of disks: 60 GB.
func disk(n int64) string {
	if n < 1e9 {
		return size(n)
	}
	return strconv.FormatFloat(math.Round(float64(n)/1e8)/10, 'f', -1, 64) + " GB"
}

func (s Site) gpus(i int, c providers.Check, tell func(int, bool, string, string, ...any)) {
	if s.DevicesErr != nil {
		tell(i, false, "The GPUs cannot be read", "%v", s.DevicesErr)
		return
	}
	good := 0
	for _, d := range s.Devices {
		if !s.Place.MayUse(d) || d.Lacks(c.Shape.GPU, c.Shape.GPUs) != "" {
			continue
		}
		if !d.Healthy {
			tell(i, true, "A GPU is not healthy", "GPU %s: %s; it will not be used", d.ID(), d.Reason)
			continue
		}
		good++
		if why := d.Zombie(s.Place.FreeMax()); why != "" {
			tell(i, true, "A GPU is held by nothing that runs", "%s; jobs wait until it is free", why)
		}
	}
	if absent := s.Place.GPUs.Absent(s.Devices); len(absent) > 0 {
		tell(i, true, "A GPU that gpus names is not there", "this machine has no GPU %s; jobs get the others", strings.Join(absent, ", "))
	}
	if good < c.Shape.GPUs {
		tell(i, false, "There are not enough healthy GPUs", "%d of %d that are needed", good, c.Shape.GPUs)
	}
}
