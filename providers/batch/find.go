package batch

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/host/spool"
	"github.com/muster-run/muster/providers/offer"
)

// Find says for each token whether the backend knows it.
func (s *Provider) Find(ctx context.Context, name string, tokens []string) ([]offer.Observation, error) {
	b, unlock, err := s.opened(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c := b.campaign
	all := len(tokens) == 0
	if all {
		if _, err := os.Stat(c.spools.dir); errors.Is(err, fs.ErrNotExist) {
			return nil, providers.Errorf(providers.NotFound, "There is no record of this campaign in %s", c.spools.dir)
		}
		tokens = slices.Sorted(maps.Keys(c.jobs.byToken))
	}
	mine := make([]*job, len(tokens))
	for i, t := range tokens {
		mine[i] = c.jobs.byToken[t]
	}
	if err := c.refresh(ctx, mine); err != nil {
		return nil, err
	}
	f := finding{campaign: c, looked: map[*batch]offer.Presence{}, queues: []string{spool.Identity(c.spools.dir)}}
	if slices.Contains(mine, nil) {
		if f.elsewhere, err = c.spools.elsewhere(); err != nil {
			return nil, err
		}
	}
	out := make([]offer.Observation, len(tokens))
	for i, j := range mine {
		if j == nil {
			out[i] = f.absent(tokens[i])
		} else if out[i], err = f.found(ctx, j); err != nil {
			return nil, err
		}
		if all {
			out[i].Record = &offer.JobRecord{Address: j.address, Smoke: j.smoke, Result: j.result, First: j.base, Fence: c.spools.spool().Fence().N}
		}
	}
	return out, nil
}

// refresh brings the status of jobs up to date, if one of them has not ended.
func (c *campaign) refresh(ctx context.Context, list []*job) error {
	open := func(j *job) bool { return j != nil && !j.ended }
	if !slices.ContainsFunc(list, open) {
		return nil
	}
	if err := c.launches.scan(); err != nil {
		return err
	}
	switch {
	case !slices.ContainsFunc(list, open):
		return nil
	case time.Since(c.queue.looked) > lookFresh:
		return c.look(ctx)
	}
	return c.launches.settle(ctx)
}

// A finding is the answers to one Find.
type finding struct {
	*campaign
	queues    []string
	elsewhere map[string]node.Spool          // tokens that another cluster has
	looked    map[*batch]offer.Presence      // batches whose submission had no answer
	earlier   map[string][]offer.Observation // by token; nil until it is needed
}

// absent is the answer for a token that this spool does not have.
func (f *finding) absent(token string) offer.Observation {
	o := offer.Observation{Token: token, Presence: offer.Absent, Queues: f.queues}
	if at, ok := f.elsewhere[token]; ok {
		o.Cause, o.Reason = offer.OtherCluster, f.spools.another(at)
	}
	return o
}

// found is the answer for a job of this spool.
func (f *finding) found(ctx context.Context, j *job) (offer.Observation, error) {
	if k := j.batch; k.id == "" && !k.tried.IsZero() && !j.ended {
		where, asked := f.looked[k]
		if !asked {
			var err error
			if where, err = f.submitter.resolve(ctx, k); err != nil {
				return offer.Observation{}, err
			}
			f.looked[k] = where
		}
		if where == offer.Unknown {
			return offer.Observation{Token: j.token, Presence: where}, nil
		}
	}
	o := j.last
	o.Queues = f.queues
	if o.Handle == "" {
		o.Handle = f.jobs.handle(j) // it was submitted since
	}
	if o.Status == offer.Queued {
		o.Stage = j.batch.stage()
	}
	if j.last.Attempt > j.base {
		if f.earlier == nil {
			f.earlier = f.reports.earlier()
		}
		o.Earlier = f.earlier[j.token]
	}
	if dup := f.jobs.duplicate(j); dup != "" {
		o.Duplicate = dup
	}
	return o, nil
}
