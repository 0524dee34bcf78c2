package login

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// lookFresh is how old a look at the queue may be that answers for another
// one: many tokens are asked about in several calls.
const lookFresh = 3 * time.Second

// resolve finds out what became of a batch whose sbatch did not say. One that
// Slurm does not have waits on the spool again, as if it had not been sent: the
// next hand-over sends it. It stays ours: whoever were told that it is absent
// would submit its jobs again, under other tokens, beside it.
func (c *campaign) resolve(ctx context.Context, k *batch) (offer.Presence, error) {
	failed, _ := time.Parse(time.RFC3339Nano, k.dir.Noted("failed"))
	id, where, err := c.cluster.Search(ctx, k.Name, string(k.dir)+"/script.sh", k.tried, failed)
	switch {
	case err != nil:
		return offer.Unknown, err
	case where == offer.Found:
		return where, c.identify(k, id)
	case where == offer.Absent:
		k.tried = time.Time{}
		if err := errors.Join(k.dir.Note("tried", ""), k.dir.Note("failed", "")); err != nil {
			return where, fmt.Errorf("note that %s was not submitted: %w", k.Name, err)
		}
	}
	return where, nil
}

// Find says for each token whether the backend knows it.
func (s *Slurm) Find(ctx context.Context, name string, tokens []string) ([]offer.Observation, error) {
	b, unlock, err := s.opened(name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c := b.campaign
	mine := make([]*job, 0, len(tokens))
	asks := false
	for _, t := range tokens {
		j := c.jobs[t]
		mine = append(mine, j)
		asks = asks || j != nil && !j.ended
	}
	if asks {
		if err := c.scan(); err != nil {
			return nil, err
		}
		for _, j := range mine {
			asks = j != nil && !j.ended
			if asks {
				break
			}
		}
	}
	switch {
	case asks && time.Since(c.looked) > lookFresh:
		if err := c.look(ctx); err != nil {
			return nil, err
		}
	case asks:
		if err := c.settle(ctx); err != nil {
			return nil, err
		}
	}
	var earlier map[string][]offer.Observation
	looked := map[*batch]offer.Presence{}
	out := make([]offer.Observation, len(tokens))
	for i, j := range mine {
		if j == nil {
			out[i] = offer.Observation{Token: tokens[i], Presence: offer.Absent}
			continue
		}
		if k := j.batch; k.id == "" && !k.tried.IsZero() && !j.ended {
			where, asked := looked[k]
			if !asked {
				if where, err = c.resolve(ctx, k); err != nil {
					return nil, err
				}
				looked[k] = where
			}
			if where == offer.Unknown {
				out[i] = offer.Observation{Token: tokens[i], Presence: where}
				continue
			}
		}
		out[i] = j.last
		if out[i].Handle == "" {
			out[i].Handle = j.elementID() // it was handed over since
		}
		if out[i].Status == offer.Queued {
			out[i].Stage = j.batch.stage()
		}
		if j.last.Attempt > j.base {
			if earlier == nil {
				earlier = c.earlier()
			}
			out[i].Earlier = earlier[j.token]
		}
		if dup := c.duplicate(j); dup != "" {
			out[i].Duplicate = dup
		}
	}
	return out, nil
}

// earlier are, by token, the ends that were told of launches before a job's last.
func (c *campaign) earlier() map[string][]offer.Observation {
	ends := map[string][]offer.Observation{}
	for _, t := range c.log.All() {
		o := t.Seen
		if j := c.jobs[o.Token]; j != nil && o.Status == offer.Waiting && o.Attempt < j.last.Attempt {
			ends[o.Token] = append(ends[o.Token], o)
		}
	}
	return ends
}
