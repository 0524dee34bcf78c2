package node

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/room"
)

// RoomWait is how long what waits for room on its volume is left alone.
const RoomWait = 5 * time.Minute

// noRoom says why nothing is to be started on the volume of the job's workdir,
// and the class that a failure for it would have; "" where it may be. A quota is
// seen by a trial alone.
func (s *start) noRoom() (why, class string) {
	class = attempt.Full(s.job.Workdir)
	if why = room.Full(s.job.Workdir); why == "" && class != "" {
		why = "the disk, or a quota on it, is full"
	}
	if why == "" {
		return "", ""
	}
	if class == "" && strings.Contains(why, "inodes") {
		class = failure.NoInodes
	}
	return s.job.Workdir + ": " + why, cmp.Or(class, failure.DiskFull)
}

// postpone puts the job back into the queue before it has begun, to be tried
// again later, and with it all of its array that waits: each would find the
// same, and a launch that fails for it would be lost. No record is relied on:
// the spool may lie on the full volume.
func (s *start) postpone(why, class string) (int, error) {
	ctx, stop := context.WithTimeout(context.Background(), scontrolTimeout)
	defer stop()
	until := time.Now().Add(RoomWait)
	e := End{Begin: s.begin, Unbegun: true}
	e.Seen = s.seen(offer.Waiting)
	e.Seen.Class, e.Seen.Reason, e.Seen.Expected = class, "no room: "+why+"; tried again in "+RoomWait.String(), until
	e.Seen.Usage = &offer.Usage{CPU: -1, MaxRSS: -1} // it took none of the time that the job may have
	s.record(e)
	once := s.job.Retry.Max <= 1
	if once { // submitted with --no-requeue
		if err := scontrol(ctx, "update", "JobId="+s.begin.ID, "Requeue=1"); err != nil {
			return exitBroken, fmt.Errorf("no room: %s; it could not be put back: %w", why, err)
		}
	}
	ending := make(chan os.Signal, 1)
	signal.Notify(ending, syscall.SIGTERM)
	if err := scontrol(ctx, "requeue", s.begin.ID); err != nil && len(ending) == 0 {
		return exitBroken, fmt.Errorf("no room: %s; it could not be put back: %w", why, err)
	}
	id, _, _ := strings.Cut(s.begin.ID, "_")
	later := fmt.Sprintf("StartTime=now+%d", int(RoomWait.Seconds()))
	scontrol(ctx, "update", "JobId="+s.begin.ID, later)
	if once {
		scontrol(ctx, "update", "JobId="+s.begin.ID, "Requeue=0")
	}
	if id != s.begin.ID {
		scontrol(ctx, "update", "JobId="+id, later) // of those that run it changes nothing
	}
	select {
	case <-ending:
	case <-time.After(requeueWait):
	}
	return 1, nil
}
