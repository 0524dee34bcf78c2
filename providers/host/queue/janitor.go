package queue

import (
	"context"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/host/cgroup"
	"github.com/muster-run/muster/providers/wrapper"
)

// A janitor removes the folders and logs of ended attempts, beside the queue's goroutine.
type janitor struct {
	*core
	attempts *attempts
	starts   *starts
	trash    chan []trash
	thorough bool // even a little trash is cleared away
}

// trash is the folders and logs of an attempt whose end is in the log.
type trash struct {
	folder  wrapper.Folder
	spec    *providers.Job
	simple  bool
	logs    [2]string
	cgroup  cgroup.Group
	scratch string
}

// trashBatch is how many attempts' folders and logs go to the janitor at a time
// while jobs run.
const trashBatch = 16

// maxLitter is how much of it may wait for the log to be written by others.
const maxTrash = 2 * trashBatch

// cleanUp runs after a write of the log and removes the trash of attempts whose end is in the
// log. While a folder exists, its record decides about the job.
func (jn *janitor) cleanUp() {
	if n := len(jn.attempts.trash); n == 0 || n < trashBatch && len(jn.live) > 0 && !jn.thorough {
		return
	}
	select {
	case jn.trash <- jn.attempts.trash:
		jn.attempts.trash, jn.thorough = nil, false
	default: // the janitor is behind; the next turn will do
	}
}

func (jn *janitor) run(ctx context.Context) {
	for {
		select {
		case list := <-jn.trash:
			for _, t := range list {
				jn.clear(t)
			}
		case <-ctx.Done():
			for len(jn.trash) > 0 {
				for _, t := range <-jn.trash {
					jn.clear(t)
				}
			}
			jn.starts.logs.Clear()
			jn.starts.folders.Clear()
			return
		}
	}
}

func (jn *janitor) clear(t trash) {
	t.cgroup.Remove()
	attempt.RemoveScratch(t.scratch)
	jn.starts.folders.Return(t.folder, t.spec, t.simple)
	jn.starts.logs.Done(t.logs[0])
	jn.starts.logs.Done(t.logs[1])
}
