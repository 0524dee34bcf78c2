package login

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/slurm/arrays"
)

// capped gives batches that are handed over together their parts of their
// phases' limits.
func capped(list []*batch) {
	by := map[string][]*batch{}
	for _, k := range list {
		if k.Limit > 0 {
			by[k.Phase] = append(by[k.Phase], k)
		}
	}
	for _, like := range by {
		sizes := make([]int, len(like))
		for i, k := range like {
			sizes[i] = len(k.Indexes)
		}
		shares, behind := arrays.Spread(like[0].Limit, sizes)
		for i, k := range like {
			k.Cap = shares[i]
			if behind[i] >= 0 {
				k.Behind = like[behind[i]].Name
			}
		}
	}
}

// live counts the jobs of a batch that have not ended.
func (b *batch) live() (n int) {
	for _, j := range b.jobs {
		if !j.ended {
			n++
		}
	}
	return n
}

// before is the batch that another one waits for in its lane, nil when that
// has ended.
func (c *campaign) before(k *batch) (p *batch) {
	for _, o := range c.batches {
		switch {
		case k.Behind == "", o.over():
		case o.Name == k.Behind:
			return o
		case o.Of == k.Behind:
			p = o
		}
	}
	return p
}

// crowded says that a batch has to wait until fewer of its phase are with
// Slurm.
func (c *campaign) crowded(k *batch) error {
	if k.Limit <= 0 || c.before(k) != nil {
		return nil
	}
	others := 0
	for _, o := range c.batches {
		if o != k && o.id != "" && o.Phase == k.Phase && c.before(o) == nil {
			others += min(o.live(), o.Cap)
		}
	}
	if others > 0 && others+min(k.live(), k.Cap) > k.Limit {
		return providers.Errorf(providers.Quota, "as many of phase %s are with Slurm as may run", k.Phase)
	}
	return nil
}

// balance gives what arrays that have ended leave of their phase's limit to
// those that go on.
func (c *campaign) balance(ctx context.Context) error {
	done := map[string]bool{}
	for _, k := range c.batches {
		if k.Limit <= 0 || done[k.Phase] {
			continue
		}
		done[k.Phase] = true
		var list []*batch
		left := k.Limit
		for _, o := range c.batches {
			if o.Phase != k.Phase || o.over() {
				continue
			}
			if left -= min(o.live(), o.Cap); o.id == "" || c.before(o) != nil {
				left = 0 // it waits for that itself
			}
			if o.Array {
				list = append(list, o)
			}
		}
		slices.SortStableFunc(list, func(a, b *batch) int { return b.live() - a.live() })
		for _, o := range list {
			if more := min(left, o.live()-o.Cap); more > 0 {
				if err := c.setThrottle(ctx, o, o.Cap+more); err != nil {
					return err
				}
				left -= more
			}
		}
	}
	return nil
}

// throttle changes how many of a phase may run at once, also of arrays that
// Slurm has; none = no limit. Where fewer may run than there are arrays, those
// that have no part in it begin when the one before them in their lane has ended.
func (c *campaign) throttle(ctx context.Context, phase string, limit int) error {
	limit = max(limit, 0)
	var list, rest []*batch
	var sizes []int
	other := false
	for _, k := range c.batches {
		switch {
		case k.Phase != phase || k.over():
			continue
		case c.left(k):
			rest = append(rest, k)
		default:
			list, sizes = append(list, k), append(sizes, k.live())
		}
		other = other || k.Limit != limit
	}
	if !other {
		return nil
	}
	shares, behind := make([]int, len(list)), make([]int, len(list))
	if limit > 0 {
		shares, behind = arrays.Spread(limit, sizes)
	}
	for _, k := range rest {
		list, shares, behind = append(list, k), append(shares, min(limit, k.live())), append(behind, -1)
	}
	for i, k := range list {
		lane := ""
		if limit > 0 && behind[i] >= 0 {
			lane = list[behind[i]].Name
		}
		if err := c.setLane(k, lane); err != nil {
			return err
		}
		if err := c.setThrottle(ctx, k, shares[i]); err != nil {
			return err
		}
	}
	if err := c.letGo(ctx); err != nil {
		return err
	}
	for _, k := range list { // last: whoever is killed before it does it all again
		k.Limit = limit
		if err := k.noteLimit(); err != nil {
			return err
		}
	}
	return nil
}

// left reports whether a batch is what there was no room for of one that goes
// on: it takes no part in the limit before it is handed over; see crowded.
func (c *campaign) left(k *batch) bool {
	return k.id == "" && slices.ContainsFunc(c.batches, func(o *batch) bool {
		return o.id != "" && !o.over() && cmp.Or(o.Of, o.Name) == cmp.Or(k.Of, k.Name)
	})
}

// setLane changes what a batch begins behind, of its phase. What Slurm has of it
// is told so with the next letGo; what runs goes on.
func (c *campaign) setLane(k *batch, behind string) error {
	if k.Behind == behind {
		return nil
	}
	k.Behind = behind
	if k.id == "" {
		return nil
	}
	k.wide = true
	return k.dir.Note("wide", "it is told its own, with its place in a lane")
}

// setThrottle changes an array's own part; 0 = no limit.
func (c *campaign) setThrottle(ctx context.Context, k *batch, n int) error {
	if n == k.Cap {
		return nil
	}
	if k.Array && k.id != "" {
		if err := c.throttleAt(ctx, k, n); err != nil {
			return err
		}
	}
	k.Cap = n
	return k.noteLimit()
}

// noteLimit keeps what may run of a batch, where it was changed.
func (b *batch) noteLimit() error {
	if err := b.dir.Note("limit", fmt.Sprintf("%d %d %s", b.Limit, b.Cap, b.Behind)); err != nil {
		return fmt.Errorf("note how many of %s may run: %w", b.Name, err)
	}
	return nil
}

// readLimit is the opposite of noteLimit.
func (b *batch) readLimit() {
	f := append(strings.Fields(b.dir.Noted("limit")), "")
	if len(f) < 3 {
		return
	}
	limit, err := strconv.Atoi(f[0])
	part, err2 := strconv.Atoi(f[1])
	if err == nil && err2 == nil {
		b.Limit, b.Cap, b.Behind = limit, part, f[2]
	}
}
