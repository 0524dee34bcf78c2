package login

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/node"
)

// Cancel ends jobs of ours and no others: it names ids that the spool knows.
// Their logs lie in the workdir; the last lines go with the end.
func (s *Slurm) Cancel(ctx context.Context, r providers.CancelRequest) ([]providers.Outcome, error) {
	b, unlock, err := s.ruled(r.Backend, r.Fence, r.Holder)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c := b.campaign
	if err := c.scan(); err != nil {
		return nil, err
	}
	out := make([]providers.Outcome, len(r.Tokens))
	var mine []*job
	for i, token := range r.Tokens {
		out[i] = providers.Outcome{ID: token, What: "not found"}
		switch j := c.jobs[token]; {
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
	return out, errors.Join(c.cancel(ctx, mine), c.second(ctx, r.Handles))
}

// second ends second jobs of tokens that go on: those, of what is named, that
// bear a batch's name and did not get its claim.
func (c *campaign) second(ctx context.Context, handles []string) error {
	if len(handles) == 0 {
		return nil
	}
	rows, err := c.cluster.Queue(ctx)
	if err != nil {
		return err
	}
	names := map[string]string{}
	for _, k := range c.batches {
		names[k.Name] = k.id
	}
	var ids []string
	for _, r := range rows {
		id, ours := names[r.Name]
		if ours && id != r.Array && !cluster.Ended(r.State) && slices.ContainsFunc(handles, func(h string) bool { return h == r.Array || strings.HasPrefix(h, r.Array+"_") }) &&
			!slices.Contains(ids, r.Array) {
			ids = append(ids, r.Array)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return c.cluster.Cancel(ctx, ids)
}

func (c *campaign) cancel(ctx context.Context, list []*job) error {
	if len(list) == 0 {
		return nil
	}
	// First the word for the wrapper, which may be about to start.
	for _, j := range list {
		if err := os.WriteFile(c.path("cancels", j.token), nil, 0o600); err != nil {
			return fmt.Errorf("note that %s is cancelled: %w", j.address, err)
		}
	}
	for _, j := range list {
		if k := j.batch; k.id == "" && !k.tried.IsZero() {
			if _, err := c.resolve(ctx, k); err != nil {
				return err
			}
		}
	}
	there, err := c.there(ctx, list)
	if err != nil {
		return err
	}
	if ids := cancelIDs(there); len(ids) > 0 {
		if err := c.cluster.Cancel(ctx, ids); err != nil && !cluster.Gone(err) {
			return err
		}
	}
	rows, err := c.cluster.Queue(ctx)
	if err != nil {
		return err
	}
	if ids := copyIDs(c.copies(rows), list); len(ids) > 0 {
		if err := c.cluster.Cancel(ctx, ids); err != nil && !cluster.Gone(err) {
			return err
		}
		if rows, err = c.cluster.Queue(ctx); err != nil {
			return err
		}
	}
	return c.neverRan(rows, list)
}

// there are those of a list that the queue has under the name that they bear:
// ids are given out again, and who has one now may be the user's own.
func (c *campaign) there(ctx context.Context, list []*job) (out []*job, err error) {
	if !slices.ContainsFunc(list, func(j *job) bool { return j.batch.id != "" }) {
		return nil, nil
	}
	rows, err := c.cluster.Queue(ctx)
	if err != nil {
		return nil, err
	}
	by := byPlace(rows)
	for _, j := range list {
		if j.batch.id != "" && j.row(by) != nil {
			out = append(out, j)
		}
	}
	return out, nil
}

// neverRan tells the end of those that Slurm has dropped before they started;
// the others write it down themselves.
func (c *campaign) neverRan(rows []cluster.QueueRow, list []*job) error {
	by := byPlace(rows)
	var ends []offer.Observation
	for _, j := range list {
		r := j.row(by)
		if j.batch.id != "" && (r != nil && !cluster.Ended(r.State) || c.claimed(j)) {
			continue
		}
		if j.batch.id == "" && !j.batch.tried.IsZero() {
			continue // it may yet turn up, and is refused then
		}
		o := j.cancelled("")
		if spec, err := j.batch.dir.Job(j.index); err == nil {
			_, o.Tail = attempt.Tail(spec, o.Attempt, j.batch.dir.Mask(spec.Token))
		}
		ends = append(ends, o)
	}
	return c.tell(ends...)
}

// cancelIDs names jobs as scancel takes them: a whole array by its id, else
// elements by ranges.
func cancelIDs(list []*job) (ids []string) {
	by := map[*batch][]int{}
	var order []*batch
	for _, j := range list {
		if j.batch.id == "" {
			continue
		}
		if by[j.batch] == nil {
			order = append(order, j.batch)
		}
		by[j.batch] = append(by[j.batch], j.index)
	}
	for _, k := range order {
		slices.Sort(by[k])
		if !k.Array || len(by[k]) == len(k.Indexes) {
			ids = append(ids, k.id)
			continue
		}
		ids = append(ids, fmt.Sprintf("%s_[%s]", k.id, cluster.FormatIndexes(by[k])))
	}
	return ids
}

// Control changes what Slurm may start of this campaign by itself.
func (s *Slurm) Control(ctx context.Context, r providers.ControlRequest) error {
	b, unlock, err := s.ruled(r.Backend, r.Fence, r.Holder)
	if err != nil {
		return err
	}
	defer unlock()
	c := b.campaign
	for _, phase := range r.Resume {
		if err := errors.Join(os.RemoveAll(c.path("stop."+phase)), node.Spool(c.spool).Forget(phase)); err != nil {
			return fmt.Errorf("close the breaker of %s: %w", phase, err)
		}
		delete(c.stopped, phase)
	}
	if r.Hold != nil {
		if err := s.hold(ctx, b, *r.Hold, r.Tokens); err != nil {
			return err
		}
		if !*r.Hold {
			s.goOn(ctx, b)
		}
	}
	for phase, limit := range r.Phases {
		if err := c.throttle(ctx, phase, limit); err != nil {
			return err
		}
	}
	return nil
}

func (s *Slurm) hold(ctx context.Context, b *backend, hold bool, tokens []string) error {
	c := b.campaign
	if len(tokens) == 0 {
		if c.held == hold {
			return nil
		}
		if err := c.noteHold(hold); err != nil {
			return err
		}
	}
	if err := c.park(tokens, hold); err != nil {
		return err
	}
	var list []*job
	for _, j := range c.unfinished() {
		// What is held by token stays held when everything else goes on.
		wanted := len(tokens) == 0 && (hold || !c.parked[j.token]) || slices.Contains(tokens, j.token)
		if wanted && j.last.Status != offer.Running && (hold || j.batch.held == "") {
			list = append(list, j)
		}
	}
	list, err := c.there(ctx, list)
	if err != nil {
		return err
	}
	if ids := cancelIDs(list); len(ids) > 0 {
		verb := "release"
		if hold {
			verb = "hold"
		}
		if err := c.cluster.Scontrol(ctx, verb, strings.Join(ids, ",")); err != nil && !cluster.Gone(err) && (hold || !cluster.Unchangeable(err)) {
			return err
		}
	}
	if !hold && len(tokens) > 0 {
		c.comeForward(ctx, list)
	}
	if !hold {
		for _, failed := range s.handOver(ctx, b) {
			return failed
		}
	}
	return nil
}

// park notes that jobs are held by token, or are not any more. Slurm holds those
// that it has; the others are not submitted.
func (c *campaign) park(tokens []string, hold bool) error {
	if len(tokens) == 0 {
		return nil
	}
	if err := c.make(); err != nil {
		return err
	}
	for _, token := range tokens {
		j := c.jobs[token]
		switch {
		case hold && j != nil && !j.ended:
			if err := os.WriteFile(c.path("holds", token), nil, 0o600); err != nil {
				return err
			}
			c.parked[token] = true
		case !hold && c.parked[token]:
			if err := os.Remove(c.path("holds", token)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			delete(c.parked, token)
		}
	}
	return nil
}

// unparked takes the jobs that are not held by token out of a batch that has some
// which are, so that they are submitted without them; nil where that changes nothing.
func (c *campaign) unparked(k *batch) (*batch, error) {
	var free []int
	for i, j := range k.jobs {
		if !c.parked[j.token] {
			free = append(free, i)
		}
	}
	if len(free) == 0 || len(free) == len(k.jobs) || !k.tried.IsZero() {
		return nil, nil
	}
	slices.Sort(free)
	return c.split(k, free)
}

// anyParked reports whether a job of a batch is held by token.
func (c *campaign) anyParked(k *batch) bool {
	for _, j := range k.jobs {
		if c.parked[j.token] {
			return true
		}
	}
	return false
}

func (c *campaign) noteHold(hold bool) error {
	if err := c.make(); err != nil {
		return err
	}
	c.held = hold
	if hold {
		return os.WriteFile(c.path("hold"), nil, 0o600)
	}
	if err := os.Remove(c.path("hold")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
