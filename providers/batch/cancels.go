package batch

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/offer"
)

// cancels cancel jobs wherever they are: on the spool, in the queue, in a copy
// there, or in a submission without an answer.
type cancels struct {
	jobs      *jobs
	queue     *queue
	reports   *reports
	submitter *submitter
	copies    *copies
}

// cancel cancels jobs, and reports the end of those that never ran.
func (cs *cancels) cancel(ctx context.Context, list []*job) error {
	if len(list) == 0 {
		return nil
	}
	// First the record for the wrapper, which may be about to start.
	for _, j := range list {
		if err := os.WriteFile(cs.jobs.path("cancels", j.token), nil, 0o600); err != nil {
			return fmt.Errorf("note that %s is cancelled: %w", j.address, err)
		}
	}
	for _, j := range list {
		if k := j.batch; k.id == "" && !k.tried.IsZero() {
			if _, err := cs.submitter.resolve(ctx, k); err != nil {
				return err
			}
		}
	}
	there, err := cs.queue.listed(ctx, list)
	if err != nil {
		return err
	}
	if there = cs.wholly(there); len(there) > 0 {
		if err := cs.queue.Cancel(ctx, jobsOf(there)); err != nil && !scheduler.Gone(err) {
			return err
		}
	}
	rows, err := cs.queue.Queue(ctx)
	if err != nil {
		return err
	}
	if copies := cs.copies.of(list, rows); len(copies) > 0 {
		if err := cs.queue.Cancel(ctx, copies); err != nil && !scheduler.Gone(err) {
			return err
		}
		if rows, err = cs.queue.Queue(ctx); err != nil {
			return err
		}
	}
	return cs.neverRan(rows, list)
}

// wholly leaves out the jobs of packs in which others go on: the program on the node
// ends those that run, and does not start the others.
func (cs *cancels) wholly(list []*job) []*job {
	return slices.DeleteFunc(list, func(j *job) bool {
		return j.batch.Packed && slices.ContainsFunc(j.batch.Indexes, func(i int) bool {
			o := j.batch.jobs[i]
			return o != nil && !o.ended && !cs.jobs.unwanted(o)
		})
	})
}

// neverRan reports the end of jobs that did not start; the others record it
// themselves.
func (cs *cancels) neverRan(rows []scheduler.Entry, list []*job) error {
	by := byPlace(rows)
	var ends []offer.Observation
	for _, j := range list {
		r := j.row(by)
		waits := j.batch.Packed && r != nil && (r.State == scheduler.Waiting || j.batch.turns()) // and is refused when its turn comes
		if j.batch.id != "" && (r != nil && r.State != scheduler.Ended && !waits || cs.jobs.claimed(j)) {
			continue
		}
		if j.batch.id == "" && !j.batch.tried.IsZero() {
			continue // it may yet turn up, and is refused then
		}
		o := j.cancelled("", "")
		if spec, err := j.batch.dir.Job(j.index); err == nil {
			_, o.Tail = attempt.Tail(spec, o.Attempt, j.batch.dir.Mask(spec.Token))
		}
		ends = append(ends, o)
	}
	return cs.reports.tell(ends...)
}
