package cluster

import (
	"context"
	"time"

	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

// settled is how long after an sbatch without an answer a search that finds
// nothing means that there is no job: accounting lags, and a hung controller still
// accepts it. A job that comes even later finds its token claimed.
const settled = 15 * time.Second

// Search finds out whether Slurm has the job of an sbatch without an answer.
func (c *Commands) Search(ctx context.Context, s scheduler.Submission) (id string, where offer.Presence, err error) {
	name, tried, failed := s.Name, s.Tried, s.Failed
	rows, err := c.queue(ctx)
	if err != nil {
		return "", offer.Unknown, err
	}
	for _, r := range rows {
		if r.Name == name {
			return r.Array, offer.Found, nil
		}
	}
	since := tried
	if !failed.IsZero() {
		since = failed
	} else if submitting(s.Script) {
		return "", offer.Unknown, nil
	}
	if time.Since(since) < settled {
		return "", offer.Unknown, nil
	}
	old, err := c.accountNamed(ctx, name, tried)
	if err != nil {
		return "", offer.Unknown, err
	}
	for _, r := range old {
		// A refused sbatch may burn an id and leave a row of a job that never was.
		if r.Name == name && r.Step == "" && !r.Submit.Before(tried.Add(-time.Minute)) && !(stateWord(r.State) == "FAILED" && r.Start.IsZero()) {
			return r.Array, offer.Found, nil
		}
	}
	return "", offer.Absent, nil
}
