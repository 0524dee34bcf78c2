package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// Bounds of a requeue.
const (
	changeTimeout = 90 * time.Second // longer than a scheduler's daemon may take, twice
	requeueWait   = 2 * time.Minute  // for the scheduler to end this script after it
)

// A requeue puts the job back into the scheduler's queue after a start, under its
// id, so that the jobs that depend on it keep waiting.
type requeue struct {
	*start
	end    End
	ending chan os.Signal // the scheduler ends this script
}

// run requeues the job and waits for the scheduler to end this script.
func (r *requeue) run() error {
	r.ending = make(chan os.Signal, 1)
	signal.Notify(r.ending, syscall.SIGTERM)
	off := r.without(context.Background())
	if len(r.ending) > 0 {
		return nil // the scheduler ends it for another reason: a requeue would undo somebody's cancel
	}
	ctx, stop := context.WithTimeout(context.Background(), changeTimeout)
	defer stop()
	for try := 0; ; try++ {
		err := r.allocation.scheduler.Requeue(ctx, r.begin.ID)
		if err == nil {
			break
		}
		if len(r.ending) > 0 {
			break // it was heard: the scheduler ends this script
		}
		if ctx.Err() != nil || try == 2 || errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		time.Sleep(5 * time.Second)
	}
	r.amend(ctx, off)
	awaitEnd(r.ending)
	return nil
}

// amend changes the requeued job's request and the nodes that it avoids, between the requeue
// and the end of this script. A job that did not get its request does not run: its next start
// sees that it was not granted.
func (r *requeue) amend(ctx context.Context, off string) {
	to, own := r.allocation.scheduler, r.allocation.jobs()
	if g := r.end.Growth; g != nil {
		if err := to.Change(ctx, own, scheduler.More{Memory: g.Memory, Walltime: g.Walltime}); err == nil {
			g.Granted = true
			r.record(r.end) // if it fails, the next start does not run
		}
	}
	if off != "" { // too late if the scheduler was quicker: then it may come back to the same node
		to.Change(ctx, own, scheduler.Avoid(off))
	}
	if d := r.job.Retry.Delay; d > 0 { // in vain if the scheduler was quicker: then the next start waits
		to.Change(ctx, own, scheduler.StartIn(d))
	}
}

// awaitEnd waits for the scheduler to end this script after a requeue.
func awaitEnd(ending <-chan os.Signal) {
	select {
	case <-ending:
	case <-time.After(requeueWait):
	}
}

// ofTheNode are the classes that a node or one of its devices may cause. The next start avoids
// that node where there is another.
var ofTheNode = []string{failure.GPULost, failure.OOMGPU, failure.NCCLHang, failure.NodeFailure}

// withoutTimeout bounds the question before a requeue, during which the job holds its node.
const withoutTimeout = 20 * time.Second

// without are the nodes that the next start of a job avoids, "" for none: those of this start,
// after a failure that one of them may have caused, and those that it already avoids.
func (r *requeue) without(ctx context.Context) string {
	list := cmp.Or(r.allocation.nodes, r.begin.Node)
	if list == "" || !slices.Contains(ofTheNode, r.end.Seen.Class) {
		return ""
	}
	ctx, stop := context.WithTimeout(ctx, withoutTimeout)
	defer stop()
	return r.allocation.scheduler.Avoid(ctx, scheduler.Retry{ElementID: r.allocation.at(), Node: r.begin.Node, Nodes: list, Needs: max(r.job.Shape.Nodes, 1),
		Script: filepath.Join(string(r.batch), "script.sh"), More: r.more()})
}

// more is the request of the next start in place of the script's values.
func (r *requeue) more() (m scheduler.More) {
	asked, next := r.job.Shape, r.shape()
	nodes := int64(max(asked.Nodes, 1))
	memory, walltime := next.Memory/nodes, next.Walltime
	if g := r.end.Growth; g != nil {
		memory, walltime = cmp.Or(g.Memory, memory), cmp.Or(g.Walltime, walltime)
	}
	if memory != asked.Memory/nodes {
		m.Memory = memory
	}
	if walltime != asked.Walltime {
		m.Walltime = walltime
	}
	return m
}

// RoomWait is how long a job waits before it looks again for room on its volume.
const RoomWait = 5 * time.Minute

// postpone requeues the job before it has begun, to try it again later, and with it the
// waiting part of its array, which would find the same volume full. It does not rely on a
// record: the spool may be on the full volume.
func (s *start) postpone(why, class string) (int, error) {
	ctx, stop := context.WithTimeout(context.Background(), changeTimeout)
	defer stop()
	until := time.Now().Add(RoomWait)
	e := End{Begin: s.begin, Unbegun: true}
	e.Seen = s.seen(offer.Waiting)
	e.Seen.Class, e.Seen.Reason, e.Seen.Expected = class, "no room: "+why+"; tried again in "+RoomWait.String(), until
	e.Seen.Usage = &offer.Usage{CPU: -1, MaxRSS: -1} // it took none of the time that the job may have
	s.record(e)
	to, own := s.allocation.scheduler, s.allocation.jobs()
	once := s.job.Retry.Max <= 1 // its script says that it may not be put back
	if once {
		if err := to.Change(ctx, own, scheduler.Requeueable(true)); err != nil {
			return exitBroken, fmt.Errorf("no room: %s; it could not be put back: %w", why, err)
		}
	}
	ending := make(chan os.Signal, 1)
	signal.Notify(ending, syscall.SIGTERM)
	if err := to.Requeue(ctx, s.begin.ID); err != nil && len(ending) == 0 {
		return exitBroken, fmt.Errorf("no room: %s; it could not be put back: %w", why, err)
	}
	to.Change(ctx, own, scheduler.StartIn(RoomWait))
	if once {
		to.Change(ctx, own, scheduler.Requeueable(false))
	}
	if at := s.allocation.at(); at.Index >= 0 {
		to.Change(ctx, scheduler.Whole(at.Array), scheduler.StartIn(RoomWait)) // of those that run it changes nothing
	}
	awaitEnd(ending)
	return 1, nil
}
