package node

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/attempt"
)

// scratch is a start's folder on the disk of its node. The zero scratch is none.
type scratch struct {
	folder string
	lock   *os.File // held while the start lives; another may remove the files of a killed one
}

// scratchLock ends the name of a folder's lock, which is beside it.
const scratchLock = ".lock"

// stageIn copies inputs to the node's disk. Its result is the job as the command sees it.
func (c *command) stageIn() (*providers.Job, error) {
	folder, err := attempt.ScratchFolder(c.job, c.batch.Bounds().Scratch, "node"+strconv.Itoa(c.begin.Restart))
	if err != nil || folder == "" {
		return c.job, err
	}
	sweepScratch(filepath.Dir(folder))
	lock, err := os.OpenFile(folder+scratchLock, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		c.scratch.lock = lock
		_ = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) // a disk without locks keeps the files of a killed start
	}
	c.inTime(func(ctx context.Context) { err = attempt.StageIn(ctx, c.job, folder, false) })
	if err != nil {
		c.scratch.remove()
		return nil, err
	}
	c.scratch.folder = folder
	run := attempt.InScratch(c.job, folder)
	return run, attempt.MakeFolders(run)
}

func (s *scratch) remove() {
	attempt.RemoveScratch(s.folder)
	if s.lock != nil {
		os.Remove(s.lock.Name())
		s.lock.Close()
	}
	*s = scratch{}
}

// sweepScratch removes folders whose start was killed: nobody holds their locks.
func sweepScratch(dir string) {
	locks, _ := filepath.Glob(filepath.Join(dir, "muster-*"+scratchLock))
	for _, path := range locks {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue // another user's
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			folder := strings.TrimSuffix(path, scratchLock)
			attempt.RemoveScratch(folder)
			attempt.RemoveScratch(folder + ".part")
			os.Remove(path)
		}
		f.Close()
	}
}
