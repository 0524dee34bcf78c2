package batch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/arrays"
	"github.com/muster-run/muster/providers/batch/scheduler"
)

// limits keep a phase to the number of its jobs that may run at once, also with
// muster off: each batch has its share (Cap), or waits in a lane behind another
// batch (Behind). A scheduler that crashes forgets the last changes of an array's
// share, which its queue need not show.
type limits struct {
	jobs  *jobs
	queue *queue
}

// capped shares the limits of phases among batches that are submitted together.
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
			sizes[i] = k.beside(len(k.Indexes))
		}
		shares, behind := spread(like[0].Limit, like, sizes)
		for i, k := range like {
			k.Cap = shares[i]
			if behind[i] >= 0 {
				k.Behind = like[behind[i]].Name
			}
		}
	}
}

// spread is arrays.Spread for batches, packs among them. Only its slots limit how many jobs
// of a pack run at once, so the limit has as many lanes as times the largest pack fits in it.
func spread(limit int, list []*batch, sizes []int) (shares, behind []int) {
	most := 0
	for i, k := range list {
		if k.Packed {
			most = max(most, sizes[i])
		}
	}
	if most == 0 {
		return arrays.Spread(limit, sizes)
	}
	whole := slices.Repeat([]int{1}, len(list))
	_, behind = arrays.Spread(max(1, limit/most), whole)
	for _, n := range sizes {
		shares = append(shares, min(n, most))
	}
	return shares, behind
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

// crowded is an error while too many jobs of a batch's phase are submitted.
func (ls *limits) crowded(k *batch) error {
	if k.Limit <= 0 || ls.jobs.before(k) != nil {
		return nil
	}
	others := 0
	for _, o := range ls.jobs.batches {
		if o != k && o.id != "" && o.Phase == k.Phase && ls.jobs.before(o) == nil {
			others += min(o.live(), o.Cap)
		}
	}
	if others > 0 && others+min(k.live(), k.Cap) > k.Limit {
		return providers.Errorf(providers.Quota, "as many of phase %s are with %s as may run", k.Phase, ls.queue.Words().Name)
	}
	return nil
}

// balance gives the shares of ended arrays to the others of their phase.
func (ls *limits) balance(ctx context.Context) error {
	done := map[string]bool{}
	for _, k := range ls.jobs.batches {
		if k.Limit <= 0 || done[k.Phase] {
			continue
		}
		done[k.Phase] = true
		var list []*batch
		left := k.Limit
		for _, o := range ls.jobs.batches {
			if o.Phase != k.Phase || o.over() {
				continue
			}
			if left -= min(o.live(), o.Cap); o.id == "" || ls.jobs.before(o) != nil {
				left = 0 // it waits for that itself
			}
			if o.Array {
				list = append(list, o)
			}
		}
		slices.SortStableFunc(list, func(a, b *batch) int { return b.live() - a.live() })
		for _, o := range list {
			if more := min(left, o.live()-o.Cap); more > 0 {
				if err := ls.setThrottle(ctx, o, o.Cap+more); err != nil {
					return err
				}
				left -= more
			}
		}
	}
	return nil
}

// share changes a phase's limit, also of submitted arrays; 0 = no limit. If there
// are more arrays than jobs may run, the others wait in lanes behind them. It
// returns the batches that share the limit, for keep; nil = nothing changed.
func (ls *limits) share(ctx context.Context, phase string, limit int) ([]*batch, error) {
	var list, rest []*batch
	var sizes []int
	other := false
	for _, k := range ls.jobs.batches {
		switch {
		case k.Phase != phase || k.over():
			continue
		case ls.left(k):
			rest = append(rest, k)
		default:
			list, sizes = append(list, k), append(sizes, k.beside(k.live()))
		}
		other = other || k.Limit != limit
	}
	if !other {
		return nil, nil
	}
	shares, behind := make([]int, len(list)), make([]int, len(list))
	if limit > 0 {
		shares, behind = spread(limit, list, sizes)
	}
	for _, k := range rest {
		list, shares, behind = append(list, k), append(shares, min(limit, k.live())), append(behind, -1)
	}
	for i, k := range list {
		lane := ""
		if limit > 0 && behind[i] >= 0 {
			lane = list[behind[i]].Name
		}
		if err := ls.setLane(k, lane); err != nil {
			return nil, err
		}
		if err := ls.setThrottle(ctx, k, shares[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// keep records the new limit of batches, last: a muster that is killed before does
// it all again.
func (ls *limits) keep(list []*batch, limit int) error {
	for _, k := range list {
		k.Limit = limit
		if err := k.noteLimit(); err != nil {
			return err
		}
	}
	return nil
}

// left reports whether a batch is the unsubmitted rest of a batch that still runs:
// it has no share before it is submitted; see crowded.
func (ls *limits) left(k *batch) bool {
	return k.id == "" && slices.ContainsFunc(ls.jobs.batches, func(o *batch) bool {
		return o.id != "" && !o.over() && cmp.Or(o.Of, o.Name) == cmp.Or(k.Of, k.Name)
	})
}

// setLane changes the batch that another one waits behind. The next releaseAll
// tells the scheduler; running jobs continue.
func (ls *limits) setLane(k *batch, behind string) error {
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

// setThrottle changes an array's share; 0 = no limit.
func (ls *limits) setThrottle(ctx context.Context, k *batch, n int) error {
	if n == k.Cap {
		return nil
	}
	if k.Array && k.id != "" {
		if err := ls.throttleAt(ctx, k, n); err != nil {
			return err
		}
	}
	k.Cap = n
	return k.noteLimit()
}

// noteLimit records a changed limit and share.
func (b *batch) noteLimit() error {
	if err := b.dir.Note("limit", fmt.Sprintf("%d %d %s", b.Limit, b.Cap, b.Behind)); err != nil {
		return fmt.Errorf("note how many of %s may run: %w", b.Name, err)
	}
	return nil
}

// readLimit reads the record of noteLimit.
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

// limitRest is the time between two checks of an array's share, each of which is a
// query of its own.
const limitRest = 5 * time.Minute

// restore sets the shares of arrays again where the scheduler has other numbers.
func (ls *limits) restore(ctx context.Context, rows []scheduler.Entry) error {
	open, wait := map[string]int{}, map[string]bool{}
	for _, r := range rows {
		if r.State != scheduler.Ended {
			key := r.Array + " " + r.Name // ids are given out again
			open[key]++
			wait[key] = wait[key] || r.State == scheduler.Waiting
		}
	}
	for _, k := range ls.jobs.batches {
		key := k.id + " " + k.Name
		if !k.Array || k.id == "" || !wait[key] || !k.limited() || time.Since(k.limitChecked) < limitRest {
			continue
		}
		if err := ls.restoreLimit(ctx, k, open[key]); err != nil {
			return err
		}
	}
	return nil
}

// restoreLimit checks one array, of which so many elements have not ended. A
// change that the scheduler refused is not repeated with every look.
func (ls *limits) restoreLimit(ctx context.Context, k *batch, open int) error {
	bound := func(n int) int {
		if n >= open {
			return 0
		}
		return n
	}
	n, err := ls.queue.AtOnce(ctx, k.id)
	if err == nil && n >= 0 && bound(n) != bound(k.Cap) {
		err = ls.throttleAt(ctx, k, k.Cap)
	}
	if err != nil && !scheduler.Heard(err) {
		return err
	}
	k.limitChecked = time.Now()
	return nil
}

// limited reports whether a batch has, or had, a share of a limit. A user may have
// set that of any other.
func (b *batch) limited() bool { return b.Cap > 0 || b.dir.Noted("limit") != "" }

// throttleAt sets how many elements of a submitted array may run; 0 = all.
// scontrol(1), ArrayTaskThrottle.
func (ls *limits) throttleAt(ctx context.Context, k *batch, n int) error {
	err := ls.queue.Change(ctx, scheduler.Whole(k.id), scheduler.Throttle(n))
	ls.queue.changed()
	k.limitChecked = time.Time{}
	if err != nil && !scheduler.Gone(err) {
		return fmt.Errorf("change how many of %s may run: %w", k.Name, err)
	}
	return nil
}
