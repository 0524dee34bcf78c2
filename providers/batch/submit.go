package batch

import (
	"context"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/spool"
)

// Submit writes new jobs on the spool in batches, and then submits whatever the
// scheduler does not have.
func (s *Provider) Submit(ctx context.Context, r providers.SubmitRequest) ([]providers.Submitted, error) {
	b, unlock, err := s.ruled(ctx, r.Backend, r.Fence, r.Holder)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c := b.campaign
	if err := c.spools.make(); err != nil {
		return nil, err
	}
	out, queue := make([]providers.Submitted, len(r.Jobs)), spool.Identity(c.spools.dir)
	var fresh []*providers.Job
	elsewhere, err := c.spools.elsewhere()
	if err != nil {
		return nil, err
	}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if j.Workdir == "" {
			j.Workdir = b.Workdir
		}
		out[i].Token, out[i].Queue = j.Token, queue
		k := c.jobs.byToken[j.Token]
		if at, ok := elsewhere[j.Token]; ok {
			out[i].Err = providers.Errorf(providers.Conflict, "It is not submitted: %s", c.spools.another(at))
		} else if k == nil {
			if err := b.check(j); err != nil {
				out[i].Err = err
				continue
			}
			fresh = append(fresh, j)
		} else if k.digest != digestOf(j) {
			out[i].Err = providers.Errorf(providers.Conflict, "token %s is another job's", j.Token)
		}
	}
	if err := c.dependencies.replace(fresh); err != nil {
		return nil, err
	}
	if err := c.intake.add(b.site, r.Batch, fresh); err != nil {
		return nil, err
	}
	mine := make([]*job, len(out)) // one that is refused is forgotten
	for i := range out {
		mine[i] = c.jobs.byToken[out[i].Token]
	}
	failed := s.submitPending(ctx, b)
	if err := c.poll.seeHolds(ctx); err != nil {
		return nil, err
	}
	for i, k := range mine {
		if out[i].Err != nil || k == nil {
			continue
		}
		out[i].Handle, out[i].Stage, out[i].HeldBy = c.jobs.handle(k), k.batch.stage(), k.last.HeldBy // no handle while it waits for room
		if err := failed[k.batch]; err != nil {
			out[i].Err = err
		}
	}
	return out, nil
}

// check refuses a job that cannot be submitted.
func (b *backend) check(j *providers.Job) *providers.Error {
	if len(j.Token) < 2 {
		return providers.Errorf(providers.Invalid, "%s has no token", j.Address)
	}
	return b.site.Check(j)
}
