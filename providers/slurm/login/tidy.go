package login

import (
	"context"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/leftover"
)

// past are the jobs that have ended, of those that Slurm had; all: none of them is
// to run on.
func (c *campaign) past(all bool) leftover.Jobs {
	jobs := leftover.Jobs{}
	for _, j := range c.jobs {
		if j.ended && j.batch.id != "" {
			jobs[j.place()] = leftover.Job{Name: j.batch.Name, At: j.last.Ended, Unwanted: all || exists(c.path("cancels", j.token))}
		}
	}
	return jobs
}

// sweep takes out of the queue what has ended, and tells of it.
func (c *campaign) sweep(ctx context.Context, past leftover.Jobs, rows []cluster.QueueRow) (string, error) {
	text, err := past.Remove(ctx, c.cluster, rows)
	if text != "" {
		c.rowsAt = time.Time{}
		err = c.note(providers.Note{Kind: "info", Text: text})
	}
	return text, err
}

// tidy is sweep for a campaign of which nothing is open, at whose queue nobody
// looks else; all: as past.
func (c *campaign) tidy(ctx context.Context, all bool) (string, error) {
	past := c.past(all)
	if len(c.unfinished()) > 0 || past.Over(c.path("tidy")) {
		return "", nil
	}
	rows, err := c.queued(ctx)
	if err != nil {
		return "", err
	}
	text, err := c.sweep(ctx, past, rows)
	past.Seen(c.path("tidy"), rows)
	return text, err
}
