package login

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/muster-run/muster/providers/slurm/cluster"
)

// A controller that is killed forgets the last changes of how many of an array
// may run at once. What it says of the array tells: squeue shows the limit beside
// the indexes of elements that wait in one record. Where each stands for itself,
// as each was told its own dependency, the limit is seen by what it does.

// heed tells Slurm again how many of its arrays may run, where it goes by another
// number.
func (c *campaign) heed(ctx context.Context, rows []cluster.QueueRow) error {
	by := map[string]*run{}
	for i := range rows {
		r := &rows[i]
		if by[r.Array] == nil {
			by[r.Array] = &run{most: -1}
		}
		by[r.Array].add(r)
	}
	for _, k := range c.batches {
		seen := by[k.id]
		if !k.Array || k.id == "" || seen == nil || seen.name != k.Name || k.over() || !c.strays(k, seen) {
			continue
		}
		if err := c.throttleAt(ctx, k, k.Cap); err != nil {
			return err
		}
	}
	return nil
}

// A run is how an array stands in the queue.
type run struct {
	name    string
	most    int // at once, as Slurm says; 0 = all, -1 = it does not say
	open    int // elements that have not ended
	running int
	last    time.Time // a start
	limited bool      // some wait as no more of them may run
}

func (s *run) add(r *cluster.QueueRow) {
	if cluster.Ended(r.State) {
		return
	}
	s.name, s.most, s.open = r.Name, max(s.most, r.Most), s.open+1
	switch {
	case r.State != "PENDING":
		s.running++
		if r.Start.After(s.last) {
			s.last = r.Start
		}
	case r.Reason == "JobArrayTaskLimit":
		s.limited = true
	}
}

const (
	// clocksDiffer is by how much those of the controller and of this machine may.
	clocksDiffer = time.Minute
	// heedRest is how long an array is left alone that was told again by what was
	// seen of it: that is a look at what moves.
	heedRest = 10 * time.Minute
)

// strays reports whether Slurm goes by another number than it was told.
func (c *campaign) strays(k *batch, s *run) bool {
	limit := k.Cap
	if limit >= s.open {
		limit = 0
	}
	if s.most >= 0 {
		told := s.most
		if told >= s.open {
			told = 0
		}
		return told != limit
	}
	// What runs when the limit is lowered goes on; what starts then is too many.
	over := limit > 0 && s.running > limit && s.last.After(k.limited().Add(clocksDiffer))
	under := s.limited && (limit == 0 || s.running < limit)
	if !over && !under || time.Since(k.heeded) < heedRest {
		return false
	}
	k.heeded = time.Now()
	return true
}

// limited is when a batch's part of its phase's limit was changed, zero if it
// has the one that it was submitted with.
func (b *batch) limited() time.Time {
	fi, err := os.Stat(filepath.Join(string(b.dir), "limit"))
	if err != nil {
		return time.Time{}
	}
	return fi.ModTime()
}

// throttleAt tells Slurm how many of an array may run; 0 = all. scontrol(1),
// ArrayTaskThrottle.
func (c *campaign) throttleAt(ctx context.Context, k *batch, n int) error {
	err := c.cluster.Scontrol(ctx, "update", "JobId="+k.id, "ArrayTaskThrottle="+strconv.Itoa(n))
	c.rowsAt = time.Time{}
	if err != nil && !cluster.Gone(err) {
		return fmt.Errorf("change how many of %s may run: %w", k.Name, err)
	}
	return nil
}
