package host

import (
	"context"

	"github.com/muster-run/muster/providers/wrapper"
)

// trash is what an attempt leaves behind whose end is in the log.
type trash struct {
	folder wrapper.Folder
	simple bool
	logs   [2]string
}

// litterBatch is how many attempts' leavings go to the janitor at a time
// while jobs run.
const litterBatch = 16

// cleanUp clears away what attempts left whose end is in the log by now. As
// long as a folder is there, its record speaks for the job.
func (q *queue) cleanUp() {
	if n := len(q.litter); n == 0 || n < litterBatch && len(q.live) > 0 {
		return
	}
	select {
	case q.trash <- q.litter:
		q.litter = nil
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
			q.logs.clear()
			return
		}
	}
}

func (q *queue) clear(t trash) {
	q.shelf.Return(t.folder, t.simple)
	q.logs.done(t.logs[0])
	q.logs.done(t.logs[1])
}
