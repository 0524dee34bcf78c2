package batch

import (
	"context"
	"slices"
	"time"

	"github.com/muster-run/muster/providers/batch/scheduler"
)

// lookFresh is for how long a listing of the queue answers further questions: many
// tokens are asked about in several calls.
const lookFresh = 3 * time.Second

// A queue is the scheduler with its last listing. Call changed after anything that
// changes the queue, so that nobody decides by stale rows.
type queue struct {
	scheduler.Scheduler
	rows   []scheduler.Entry // as they were at rowsAt; a zero time: they may have changed since
	rowsAt time.Time
	looked time.Time // the last look at all jobs that succeeded
}

// look lists the queue now.
func (q *queue) look(ctx context.Context) ([]scheduler.Entry, error) {
	rows, err := q.Queue(ctx)
	if err != nil {
		return nil, err
	}
	q.looked = time.Now()
	q.rows, q.rowsAt = rows, q.looked
	return rows, nil
}

// recent is a listing of a moment ago, if nothing has changed since, or a new one.
func (q *queue) recent(ctx context.Context) ([]scheduler.Entry, error) {
	if q.fresh() {
		return q.rows, nil
	}
	rows, err := q.Queue(ctx)
	if err != nil {
		return nil, err
	}
	q.rows, q.rowsAt = rows, time.Now()
	return rows, nil
}

func (q *queue) fresh() bool { return time.Since(q.rowsAt) < lookFresh }

// changed marks the rows as stale.
func (q *queue) changed() { q.rowsAt = time.Time{} }

// listed are the jobs of a list that the queue has under their own name: the
// scheduler reuses ids, so another job of the user may have one now.
func (q *queue) listed(ctx context.Context, list []*job) (out []*job, err error) {
	if !slices.ContainsFunc(list, func(j *job) bool { return j.batch.id != "" }) {
		return nil, nil
	}
	rows, err := q.Queue(ctx)
	if err != nil {
		return nil, err
	}
	by := byPlace(rows)
	for _, j := range list {
		if j.batch.id != "" && j.row(by) != nil {
			out = append(out, j)
		}
	}
	return out, nil
}

func byPlace(rows []scheduler.Entry) map[scheduler.ElementID]*scheduler.Entry {
	by := make(map[scheduler.ElementID]*scheduler.Entry, len(rows))
	for i := range rows {
		by[rows[i].ElementID] = &rows[i]
	}
	return by
}
