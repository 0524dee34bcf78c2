package login

import (
	"context"
	"os"
	"time"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// stage is how far a batch has come.
func (b *batch) stage() offer.Stage {
	switch {
	case b.id == "":
		return offer.Accepted
	case b.held != "":
		return offer.Submitted
	}
	return offer.Released
}

// holder is who holds the job of a row, other than muster. A job that could not
// be launched is not held for good while a running apply still releases it.
func (c *campaign) holder(j *job, r *cluster.QueueRow) offer.Holder {
	by := cluster.HeldBy(r.State, r.Reason)
	switch {
	case by == offer.HeldByUser && (c.held || r.Comment == mark && j.batch.held != ""):
		return "" // it is muster
	case by == offer.HeldByScheduler && cluster.NotLaunched(r.Reason) && c.relaunches(j) < launchTries:
		return ""
	}
	return by
}

// relaunches counts how often muster released a job that could not be launched.
func (c *campaign) relaunches(j *job) int64 {
	fi, err := os.Stat(c.path("relaunched", j.token))
	if err != nil {
		return 0
	}
	return fi.Size()
}

// seeHolds asks once who holds submitted jobs, for a caller that does not stay
// to watch: a site or an administrator may hold what has just arrived. Where the
// queue cannot be asked, the next look says it.
func (c *campaign) seeHolds(ctx context.Context) error {
	if c.watched || len(c.unfinished()) == 0 {
		return nil
	}
	rows := c.rows
	if time.Since(c.rowsAt) >= lookFresh { // else it was asked when jobs were released
		var err error
		if rows, err = c.cluster.Queue(ctx); err != nil {
			return nil
		}
	}
	by := byPlace(rows)
	var list []offer.Observation
	for _, j := range c.unfinished() {
		if r := j.row(by); r != nil && c.holder(j, r) != j.last.HeldBy {
			if o, news := c.inQueue(j, r); news && o.Status == offer.Queued {
				list = append(list, o)
			}
		}
	}
	return c.tell(list...)
}
