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

// cleanUp clears away what attempts left whose end is in the log by now. As
// long as a folder is there, its record speaks for the job.
func (q *queue) cleanUp() {
	for _, t := range q.litter {
		select {
		case q.trash <- t:
		default:
			q.clear(t)
		}
	}
	q.litter = q.litter[:0]
}

func (q *queue) janitor(ctx context.Context) {
	for {
		select {
		case t := <-q.trash:
			q.clear(t)
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
