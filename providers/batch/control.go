package batch

import (
	"context"
	"errors"
	"slices"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

// Cancel cancels jobs by the ids on the spool, and no others. The last lines of
// their logs are part of the report.
func (s *Provider) Cancel(ctx context.Context, r providers.CancelRequest) ([]providers.Outcome, error) {
	b, unlock, err := s.ruled(ctx, r.Backend, r.Fence, r.Holder)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c := b.campaign
	if err := c.launches.scan(); err != nil {
		return nil, err
	}
	out := make([]providers.Outcome, len(r.Tokens))
	var mine []*job
	for i, token := range r.Tokens {
		out[i] = providers.Outcome{ID: token, What: "not found"}
		switch j := c.jobs.byToken[token]; {
		case j == nil:
		case j.ended:
			out[i].What = "ended already"
			if j.last.Status == offer.Cancelled {
				out[i].What = "cancelled"
			}
		default:
			out[i].What = "cancelled"
			mine = append(mine, j)
		}
	}
	return out, errors.Join(c.cancels.cancel(ctx, mine), c.copies.cancel(ctx, r.Handles))
}

// Control changes which jobs of this campaign the scheduler may start.
func (s *Provider) Control(ctx context.Context, r providers.ControlRequest) error {
	b, unlock, err := s.ruled(ctx, r.Backend, r.Fence, r.Holder)
	if err != nil {
		return err
	}
	defer unlock()
	c := b.campaign
	for _, of := range r.Resume {
		if err := c.launches.resume(of); err != nil {
			return err
		}
	}
	if r.Hold != nil {
		if err := s.hold(ctx, b, *r.Hold, r.Tokens); err != nil {
			return err
		}
		if !*r.Hold {
			if err := s.catchUp(ctx, b); err != nil && !scheduler.Heard(err) {
				return err
			}
		}
	}
	for phase, limit := range r.Phases {
		if err := c.setLimit(ctx, phase, limit); err != nil {
			return err
		}
	}
	return nil
}

func (s *Provider) hold(ctx context.Context, b *backend, hold bool, tokens []string) error {
	c := b.campaign
	if len(tokens) == 0 {
		if c.holds.all == hold && !hold {
			return nil // a release that the scheduler did not take is recalled
		}
		if err := c.holds.holdAll(hold); err != nil {
			return err
		}
	}
	if err := c.park(tokens, hold); err != nil {
		return err
	}
	var list []*job
	for _, j := range c.jobs.unfinished() {
		// Jobs that are held by token stay held when everything else is resumed.
		wanted := len(tokens) == 0 && (hold || !c.holds.has(j)) || slices.Contains(tokens, j.token)
		if wanted && j.last.Status != offer.Running && (hold || j.batch.held == "") {
			list = append(list, j)
		}
	}
	list, err := c.queue.listed(ctx, list)
	if err != nil {
		return err
	}
	if hold && len(tokens) > 0 {
		if list, err = c.withdrawals.withdraw(ctx, list); err != nil {
			return err
		}
	}
	if jobs := waitingOf(list, c.queue.Elements()); len(jobs) > 0 {
		change := c.queue.Release
		if hold {
			change = c.queue.Hold
		}
		if err := change(ctx, jobs); err != nil && !scheduler.Gone(err) && (hold || !scheduler.Unchangeable(err)) {
			return err
		}
	}
	if !hold && len(tokens) > 0 {
		c.releases.startNow(ctx, list)
	}
	if !hold {
		for _, failed := range s.submitPending(ctx, b) {
			return failed
		}
	}
	return nil
}

// park records that jobs are held by token, or no more.
func (c *campaign) park(tokens []string, hold bool) error {
	if len(tokens) == 0 {
		return nil
	}
	if err := c.spools.make(); err != nil {
		return err
	}
	for _, token := range tokens {
		if !hold {
			if err := c.holds.lift(token); err != nil {
				return err
			}
		} else if j := c.jobs.byToken[token]; j != nil && !j.ended {
			if err := c.holds.hold(token); err != nil {
				return err
			}
		}
	}
	return nil
}

// catchUp repeats changes that the scheduler forgot, releases jobs that it could
// not launch, and submits pending batches, for a caller that does not watch. A job that the
// scheduler does not take is tried by the next caller.
func (s *Provider) catchUp(ctx context.Context, b *backend) error {
	c := b.campaign
	if c.holds.all {
		return nil
	}
	if len(c.jobs.unfinished()) > 0 {
		rows, err := c.queue.recent(ctx)
		if err != nil {
			return err
		}
		if err := c.releases.recall(rows); err != nil {
			return err
		}
		if err := c.limits.restore(ctx, rows); err != nil {
			return err
		}
	}
	if c.waiting() && c.launches.scan() == nil {
		s.submitPending(ctx, b)
	}
	return c.releases.retry(ctx)
}
