// Package leftover finds and takes away what Slurm's queue has of jobs that have
// ended. A controller that was killed forgets what it was told since it last saved
// its state: what was cancelled stands in the queue again, and may wait there for
// ever; what ended while it was away is taken for running, and is charged, until
// its walltime is over. It may hold, too, what ran to its end on a node that it
// did not hear.
package leftover

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/muster-run/muster/providers/slurm/cluster"
)

const (
	// stays is how long after its end a job may be told to run: it has an epilog,
	// and slurmctld may be busy.
	stays = 2 * time.Minute
	// saved is how long after its last end a campaign may have leftovers yet: until
	// then a controller that is killed may not have saved it.
	saved = 10 * time.Minute
)

// A Job is one that has ended.
type Job struct {
	Name string // of its batch, in Slurm
	At   time.Time
	// Unwanted says that it is not to run, whatever Slurm says when it began: it
	// was cancelled, or what it would write into is removed.
	Unwanted bool
}

// Jobs are those that have ended, by where Slurm has them.
type Jobs map[cluster.Place]Job

// In are the rows of a queue that are of them and should not be there any more:
// those that wait, by their batch's name, and those that run.
func (jobs Jobs) In(queue []cluster.QueueRow, now time.Time) (waiting map[string][]cluster.QueueRow, running []cluster.QueueRow) {
	waiting = map[string][]cluster.QueueRow{}
	for _, r := range queue {
		j, ok := jobs[cluster.Place{Array: r.Array, Index: r.Index}]
		switch {
		case !ok || j.Name != r.Name: // the id was given out again
		case r.State == "PENDING":
			waiting[r.Name] = append(waiting[r.Name], r)
		case r.State == "RUNNING" && (j.Unwanted || now.Sub(j.At) > stays && !r.Start.After(j.At)):
			running = append(running, r)
		}
	}
	return waiting, running
}

// Remove takes them out of the queue, and says what that was; "" is nothing.
func (jobs Jobs) Remove(ctx context.Context, c *cluster.Commands, queue []cluster.QueueRow) (text string, err error) {
	waiting, running := jobs.In(queue, time.Now())
	n := len(running)
	for name, rows := range waiting {
		n += len(rows)
		if err := c.CancelWaiting(ctx, name, cluster.IDs(rows)); err != nil {
			return "", err
		}
	}
	if len(running) > 0 {
		if err := c.Cancel(ctx, cluster.IDs(running)); err != nil {
			return "", err
		}
	}
	switch n {
	case 0:
		return "", nil
	case 1:
		return "1 job that had ended was still in Slurm's queue, which may have forgotten that; it was taken out", nil
	}
	return fmt.Sprintf("%d jobs that had ended were still in Slurm's queue, which may have forgotten that; they were taken out", n), nil
}

// Over reports whether nothing of them can come back, as the queue was seen
// without them by now; a mark, a file, keeps that.
func (jobs Jobs) Over(mark string) bool {
	fi, err := os.Stat(mark)
	last := jobs.last()
	return last.IsZero() || err == nil && fi.ModTime().Sub(last) > saved
}

// Seen notes what Over tells, of a queue in which none of them was left.
func (jobs Jobs) Seen(mark string, queue []cluster.QueueRow) {
	for _, r := range queue {
		if j, ok := jobs[cluster.Place{Array: r.Array, Index: r.Index}]; ok && j.Name == r.Name && !cluster.Ended(r.State) {
			return
		}
	}
	_ = os.WriteFile(mark, nil, 0o600) // else it is asked again
}

func (jobs Jobs) last() (at time.Time) {
	for _, j := range jobs {
		if j.At.After(at) {
			at = j.At
		}
	}
	return at
}
