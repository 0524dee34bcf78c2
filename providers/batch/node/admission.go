package node

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/room"
)

// refusal says why the command must not even be claimed.
func (s *start) refusal() string {
	if s.cancelled() {
		return "cancelled"
	}
	if why := s.spool.Stopped(s.job.StoppedAs()); why != "" {
		return offer.Stopped + why
	}
	if s.begin.Restart == 0 {
		if token := s.spool.unmet(s.job); token != "" {
			return offer.Blocked
		}
	}
	return ""
}

func (s *start) refuse(why string) error {
	e := End{Begin: s.begin, Final: true, Refused: why}
	e.Seen = s.seen(offer.Cancelled)
	e.Seen.Reason, e.Seen.Started, e.Seen.NotRun = why, time.Time{}, true
	return errors.Join(s.record(e), s.endFollowers(e))
}

// notAgain says why a job that the scheduler requeued by itself must not run again.
func (s *start) notAgain() string {
	if s.begin.Restart == 0 || s.first {
		return "" // a failed launch of the scheduler was no launch of the command
	}
	if e, err := s.spool.ReadEnd(s.begin.Token, s.before); err == nil && !e.Outside {
		return s.withheld() // the wrapper wanted it
	}
	r := s.job.Retry
	if n := s.launches(); n > r.Launches() {
		return fmt.Sprintf("%s requeued it after launch %d, and %d are allowed", s.allocation.name(), n-1, r.Launches())
	}
	if r.Covers(failure.Preempted) || r.Covers(failure.NodeFailure) {
		return ""
	}
	return s.allocation.name() + " requeued it, and retry.on has neither preempted nor node_failure"
}

// withheld says why a start must not run, "" if it may: the start before it lacked memory or
// time, and the scheduler did not grant more.
func (s *start) withheld() string {
	e, err := s.spool.ReadEnd(s.begin.Token, s.before)
	if err != nil || e.Growth == nil || e.Growth.Granted {
		return ""
	}
	return fmt.Sprintf("%s, and %s did not give the job more in its place", e.Seen.Class, s.allocation.name())
}

// giveUp ends a job that may not run again. The job ends as the start before this one did, or
// as preempted where that start recorded no end.
func (s *start) giveUp(why string) error {
	e := End{Begin: s.begin, Final: true}
	e.Begin.Restart = s.before
	e.Seen = s.seen(offer.Failed)
	e.Seen.Attempt -= s.begin.Restart - s.before
	e.Seen.Class, e.Seen.Reason = failure.Preempted, why
	if before, err := s.spool.ReadEnd(e.Token, e.Restart); err == nil && before.Seen.Class != "" {
		e.Seen, e.Signature = before.Seen, before.Signature
		e.Seen.Status, e.Seen.Reason, e.Seen.Expected = offer.Failed, why, time.Time{}
		if before.Outside {
			e.Seen.Class = failure.Preempted
		}
	}
	// The engine may already have read the end of the earlier number.
	err := errors.Join(s.record(e), writeJSON(s.spool.path("ends", RecordName(e.Token, s.begin.Restart)), e))
	if s.withheld() != "" {
		return err // the engine starts it again, under a new id
	}
	return errors.Join(err, s.endFollowers(e))
}

// noRoom says why nothing may start on the volume of the job's workdir, and the class of a
// failure for it; "" if there is room. Only a trial write shows a quota.
func (s *start) noRoom() (why, class string) {
	class, dir := attempt.NoRoom(s.job, s.number())
	if class == failure.Unwritable {
		return attempt.Unwritten(dir), class
	}
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

// awaitDelay waits for the rest of the retry's delay where the scheduler started the job too
// early. The clock of the earlier node may be ahead of this one's.
func (s *start) awaitDelay() {
	if e, err := s.spool.ReadEnd(s.begin.Token, s.before); err == nil {
		time.Sleep(min(time.Until(e.Seen.Ended.Add(s.job.Retry.Delay)), s.job.Retry.Delay))
	}
}

// cancelled reports whether a person or the engine has cancelled the job.
func (s *start) cancelled() bool {
	_, err := os.Stat(s.spool.path("cancels", s.begin.Token))
	return err == nil
}
