package batch

import (
	"context"
	"slices"

	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

// withdrawals take jobs out of arrays, back to the spool, where the scheduler cannot hold
// single elements: held jobs are not submitted there.
type withdrawals struct {
	jobs    *jobs
	queue   *queue
	reports *reports
	poll    *poll
}

// withdraw withdraws the waiting elements of arrays among jobs, and returns the
// jobs that the scheduler can hold. Elements that start meanwhile run on. A pack
// is withdrawn as a whole: its other jobs are submitted again, without those.
func (ws *withdrawals) withdraw(ctx context.Context, list []*job) (rest []*job, err error) {
	by := map[*batch][]int{}
	var order []*batch
	for _, j := range list {
		if k := j.batch; k.elements(ws.queue).Apart || !k.Array && !k.Packed {
			rest = append(rest, j)
			continue
		}
		if by[j.batch] == nil {
			order = append(order, j.batch)
		}
		by[j.batch] = append(by[j.batch], j.index)
	}
	if len(order) == 0 {
		return rest, nil
	}
	for _, k := range order {
		slices.Sort(by[k])
		some := scheduler.Jobs{ID: k.id, Indexes: by[k]}
		if k.Packed {
			some.Indexes = nil
		}
		if err := ws.queue.CancelWaiting(ctx, k.Name, []scheduler.Jobs{some}); err != nil {
			return rest, err
		}
	}
	ws.queue.changed()
	rows, err := ws.queue.recent(ctx)
	if err != nil {
		return rest, err
	}
	here := byPlace(rows)
	for _, k := range order {
		if err := ws.takeOut(k, by[k], here); err != nil {
			return rest, err
		}
	}
	return rest, nil
}

// takeOut moves withdrawn jobs of a batch to parts on the spool.
func (ws *withdrawals) takeOut(k *batch, held []int, here map[scheduler.ElementID]*scheduler.Entry) error {
	var out, others []int
	for _, i := range k.Indexes {
		j := k.jobs[i]
		if j == nil || j.ended {
			continue
		}
		if r := j.row(here); r != nil && r.State != scheduler.Ended || ws.jobs.claimed(j) {
			continue
		}
		switch {
		case slices.Contains(held, i):
			out = append(out, i)
		case k.Packed:
			others = append(others, i)
		}
	}
	var back []offer.Observation
	if len(out) > 0 {
		part, err := ws.jobs.split(k, out)
		if err != nil {
			return err
		}
		for _, o := range ws.poll.onSpool(part, "held") {
			o.Cause = offer.JobHeld
			back = append(back, o)
		}
	}
	if len(others) > 0 {
		part, err := ws.jobs.split(k, others)
		if err != nil {
			return err
		}
		back = append(back, ws.poll.onSpool(part, "submitted again, without those that are held")...)
	}
	return ws.reports.tell(back...)
}
