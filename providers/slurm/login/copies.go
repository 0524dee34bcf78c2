package login

import (
	"context"
	"time"

	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/node"
)

// An sbatch that failed and had submitted all the same was sent again, so that
// Slurm has the batch twice. Their name, which holds a token, says that both are
// ours. Which one runs a job is decided by the claim; see node.

// copies are the rows of batches that Slurm has under another id than the one
// that is known, by that batch.
func (c *campaign) copies(rows []cluster.QueueRow) map[*batch][]cluster.QueueRow {
	named := map[string]*batch{}
	for _, k := range c.batches {
		if k.id != "" {
			named[k.Name] = k
		}
	}
	out := map[*batch][]cluster.QueueRow{}
	for _, r := range rows {
		if k := named[r.Name]; k != nil && r.Array != k.id && !cluster.Ended(r.State) {
			out[k] = append(out[k], r)
		}
	}
	return out
}

// copyIDs names the copies of jobs as scancel takes them.
func copyIDs(copies map[*batch][]cluster.QueueRow, list []*job) []string {
	var rows []cluster.QueueRow
	for _, j := range list {
		for _, r := range copies[j.batch] {
			if !j.batch.Array || r.Index == j.index {
				rows = append(rows, r)
			}
		}
	}
	return cluster.IDs(rows)
}

// dropCopies ends copies that wait: one that is held until all of its campaign
// is in would wait for ever. A job that claimed its token there, and was put
// back, goes on.
func (c *campaign) dropCopies(ctx context.Context) error {
	for k, rows := range c.copies(c.rows) {
		var waiting []cluster.QueueRow
		for _, r := range rows {
			j := k.jobs[max(r.Index, 0)]
			if r.State == "PENDING" && (j == nil || node.Spool(c.spool).Claimed(j.token) != r.ID()) {
				waiting = append(waiting, r)
			}
		}
		if len(waiting) == 0 {
			continue
		}
		if err := c.cluster.CancelWaiting(ctx, k.Name, cluster.IDs(waiting)); err != nil {
			return err
		}
		c.rowsAt = time.Time{}
	}
	return nil
}
