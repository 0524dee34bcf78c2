package batch

import (
	"context"
	"slices"

	"github.com/muster-run/muster/providers/batch/scheduler"
)

// copies are second submissions: one that failed may have submitted all the same,
// and was sent again. Both have the batch's name, which contains a token. The
// claim decides which one runs a job; see package node.
type copies struct {
	jobs  *jobs
	queue *queue
}

// in are the rows of copies in a listing of the queue, by their batch.
func (cs *copies) in(rows []scheduler.Entry) map[*batch][]scheduler.Entry {
	named := map[string]*batch{}
	for _, k := range cs.jobs.batches {
		if k.id != "" {
			named[k.Name] = k
		}
	}
	out := map[*batch][]scheduler.Entry{}
	for _, r := range rows {
		if k := named[r.Name]; k != nil && r.Array != k.id && r.State != scheduler.Ended {
			out[k] = append(out[k], r)
		}
	}
	return out
}

// of are the copies of jobs in a listing of the queue.
func (cs *copies) of(list []*job, rows []scheduler.Entry) []scheduler.Jobs {
	copies := cs.in(rows)
	var mine []scheduler.Entry
	for _, j := range list {
		for _, r := range copies[j.batch] {
			if !j.batch.Array && !j.batch.Packed || r.Index == j.index {
				mine = append(mine, r)
			}
		}
	}
	return scheduler.Of(mine)
}

// drop cancels copies that wait: nobody would release one that is held. A job that
// claimed its token in the copy, and was requeued, continues.
func (cs *copies) drop(ctx context.Context) error {
	for k, rows := range cs.in(cs.queue.rows) {
		var waiting []scheduler.Entry
		for _, r := range rows {
			j := k.at(r.Index)
			if r.State == scheduler.Waiting && (j == nil || cs.jobs.spool().Claimed(j.token) != cs.queue.ID(r.ElementID)) {
				waiting = append(waiting, r)
			}
		}
		if len(waiting) == 0 {
			continue
		}
		if err := cs.queue.CancelWaiting(ctx, k.Name, scheduler.Of(waiting)); err != nil {
			return err
		}
		cs.queue.changed()
	}
	return nil
}

// cancel cancels the named copies of jobs that continue: those with a batch's name
// that did not get its claim.
func (cs *copies) cancel(ctx context.Context, handles []string) error {
	if len(handles) == 0 {
		return nil
	}
	rows, err := cs.queue.Queue(ctx)
	if err != nil {
		return err
	}
	names := map[string]string{}
	for _, k := range cs.jobs.batches {
		names[k.Name] = k.id
	}
	var ids []string
	for _, r := range rows {
		id, ours := names[r.Name]
		if ours && id != r.Array && r.State != scheduler.Ended && !slices.Contains(ids, r.Array) && slices.ContainsFunc(handles, func(h string) bool {
			at, ok := cs.queue.Place(h)
			return ok && at.Array == r.Array
		}) {
			ids = append(ids, r.Array)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return cs.queue.Cancel(ctx, scheduler.Whole(ids...))
}
