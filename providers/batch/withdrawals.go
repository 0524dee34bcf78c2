package batch

import (
	"context"
	"slices"

	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

// withdrawals take jobs out of arrays, back to the spool, where the scheduler
// cannot hold single elements: what is held there is not submitted.
type withdrawals struct {
	jobs    *jobs
	queue   *queue
	reports *reports
	poll    *poll
}

// withdraw withdraws the waiting elements of arrays among jobs, and returns the
// jobs that the scheduler can hold. Elements that start meanwhile run on.
func (ws *withdrawals) withdraw(ctx context.Context, list []*job) (rest []*job, err error) {
	if ws.queue.Elements().Apart {
		return list, nil
	}
	by := map[*batch][]int{}
	var order []*batch
	for _, j := range list {
		if !j.batch.Array {
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
		if err := ws.queue.CancelWaiting(ctx, k.Name, []scheduler.Jobs{{ID: k.id, Indexes: by[k]}}); err != nil {
			return rest, err
		}
	}
	ws.queue.changed()
	rows, err := ws.queue.recent(ctx)
	if err != nil {
		return rest, err
	}
	here := byPlace(rows)
	var back []offer.Observation
	for _, k := range order {
		var out []int
		for _, i := range by[k] {
			j := k.jobs[i]
			if r := j.row(here); (r == nil || r.State == scheduler.Ended) && !ws.jobs.claimed(j) {
				out = append(out, i)
			}
		}
		if len(out) == 0 {
			continue
		}
		part, err := ws.jobs.split(k, out)
		if err != nil {
			return rest, err
		}
		for _, o := range ws.poll.onSpool(part, "held") {
			o.Cause = offer.JobHeld
			back = append(back, o)
		}
	}
	return rest, ws.reports.tell(back...)
}
