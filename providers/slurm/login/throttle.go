package login

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/muster-run/muster/providers/slurm/cluster"
)

// A controller that is killed forgets the last changes of how many of an array
// may run at once. squeue says the limit only of elements that it prints as one,
// and then not what each of them waits for: scontrol is asked for it.

// heedRest is how long an array is left alone whose limit was looked at: that
// costs the controller one question for each array.
const heedRest = 5 * time.Minute

// heed tells Slurm again how many of its arrays may run, where it goes by another
// number.
func (c *campaign) heed(ctx context.Context, rows []cluster.QueueRow) error {
	open, wait := map[string]int{}, map[string]bool{}
	for _, r := range rows {
		if !cluster.Ended(r.State) {
			key := r.Array + " " + r.Name // ids are given out again
			open[key]++
			wait[key] = wait[key] || r.State == "PENDING"
		}
	}
	for _, k := range c.batches {
		key := k.id + " " + k.Name
		if !k.Array || k.id == "" || !wait[key] || !k.limited() || time.Since(k.heeded) < heedRest {
			continue
		}
		if err := c.heedOne(ctx, k, open[key]); err != nil {
			return err
		}
	}
	return nil
}

// heedOne is heed for an array, of which some have not ended. What Slurm heard
// and refused it is not told with every look.
func (c *campaign) heedOne(ctx context.Context, k *batch, open int) error {
	bound := func(n int) int {
		if n >= open {
			return 0
		}
		return n
	}
	n, err := c.cluster.AtOnce(ctx, k.id)
	if err == nil && n >= 0 && bound(n) != bound(k.Cap) {
		err = c.throttleAt(ctx, k, k.Cap)
	}
	if err != nil && !cluster.Heard(err) {
		return err
	}
	k.heeded = time.Now()
	return nil
}

// limited reports whether a batch has, or ever had, a part of a limit. What
// somebody has told Slurm of any other is theirs.
func (b *batch) limited() bool { return b.Cap > 0 || b.dir.Noted("limit") != "" }

// throttleAt tells Slurm how many of an array may run; 0 = all. scontrol(1),
// ArrayTaskThrottle.
func (c *campaign) throttleAt(ctx context.Context, k *batch, n int) error {
	err := c.cluster.Scontrol(ctx, "update", "JobId="+k.id, "ArrayTaskThrottle="+strconv.Itoa(n))
	c.rowsAt, k.heeded = time.Time{}, time.Time{}
	if err != nil && !cluster.Gone(err) {
		return fmt.Errorf("change how many of %s may run: %w", k.Name, err)
	}
	return nil
}
