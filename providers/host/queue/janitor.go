package queue

import (
	"context"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/cgroup"
	"github.com/muster-run/muster/providers/wrapper"
)

// trash is what an attempt leaves behind whose end is in the log.
type trash struct {
	folder wrapper.Folder
	spec   *providers.Job
	simple bool
	logs   [2]string
	cgroup cgroup.Group
}

// litterBatch is how many attempts' leavings go to the janitor at a time
// while jobs run.
const litterBatch = 16

// maxLitter is how much of it may wait for the log to be written by others.
const maxLitter = 2 * litterBatch

// cleanUp, called when the log has been written, clears away what attempts left whose end is in the log by now. As
// long as a folder is there, its record speaks for the job.
func (q *queue) cleanUp() {
	if n := len(q.litter); n == 0 || n < litterBatch && len(q.live) > 0 && !q.thorough {
		return
	}
	select {
	case q.trash <- q.litter:
		q.litter, q.thorough = nil, false
	default: // the janitor is behind; the next turn will do
	}
}

func (q *queue) janitor(ctx context.Context) {
	for {
		select {
		case list := <-q.trash:
			for _, t := range list {
				q.clear(t)
			}
		case <-ctx.Done():
			for len(q.trash) > 0 {
				for _, t := range <-q.trash {
					q.clear(t)
				}
			}
			q.logs.Clear()
			q.shelf.Clear()
			return
		}
	}
}

func (q *queue) clear(t trash) {
	t.cgroup.Remove()
	q.shelf.Return(t.folder, t.spec, t.simple)
	q.logs.Done(t.logs[0])
	q.logs.Done(t.logs[1])
}
