package cluster

import (
	"context"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// settled is how long after an sbatch that did not say what became of it a
// look that does not find the job means that there is none: accounting lags,
// and a controller that hung takes in what it was sent. Should it come even
// later, its claim comes too late as well.
const settled = 15 * time.Second

// Search finds out whether Slurm has what an sbatch was to submit that did not
// say: a name that is given once, by a script, tried at one time. failed is when
// that sbatch came to an end, zero if nobody saw it.
func (c *Commands) Search(ctx context.Context, name, script string, tried, failed time.Time) (id string, where offer.Presence, err error) {
	rows, err := c.Queue(ctx)
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
	} else if submitting(script) {
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
		if r.Name == name && r.Step == "" && !r.Submit.Before(tried.Add(-time.Minute)) && !(StateWord(r.State) == "FAILED" && r.Start.IsZero()) {
			return r.Array, offer.Found, nil
		}
	}
	return "", offer.Absent, nil
}
