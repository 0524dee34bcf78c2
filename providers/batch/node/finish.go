package node

import (
	"errors"
	"os"
	"time"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/retry"
)

// A conclusion decides what follows a start that has ended.
type conclusion struct {
	*start
	moved     bool // the command wrote its checkpoint
	elsewhere bool // the engine starts the job again, under a new id
}

// finish records an end, has the scheduler start the job again if its policy says
// so, and gives the status for the scheduler.
func (c *conclusion) finish(e End, v failure.Verdict) (int, error) {
	next, failed := e, e.Seen.Reason
	again := e.Seen.Status == offer.Failed && !e.Outside && c.retries(&next, v)
	stopped := ""
	if !e.Outside {
		stopped = c.spool.Count(c.job, Failure{next, v, again, c.elsewhere})
	}
	if again && stopped != "" {
		again, e.Seen.Reason, e.Seen.Cause = false, offer.Stopped+stopped, offer.PhaseStopped
	} else {
		e = next
	}
	if again {
		err := c.record(e)
		if err == nil {
			if err = (&requeue{start: c.start, end: e}).run(); err == nil {
				return c.status(e), nil
			}
		}
		e.Final, e.Seen.Status, e.Seen.Expected = true, offer.Failed, time.Time{}
		if e.Seen.Reason = failed; !errors.Is(err, errors.ErrUnsupported) {
			e.Seen.Reason = "it could not be requeued: " + err.Error()
		}
		c.elsewhere = true
	}
	if e.Outside {
		e.Final = false // the scheduler knows
	}
	if e.Final {
		os.Remove(c.batch.secrets(c.job.Token))
	}
	if e.Completed() {
		c.spool.forgetMarks(c.job)
	}
	if err := c.record(e); err != nil {
		return exitBroken, err // not recorded is not verified
	}
	if e.Completed() && c.allocation.sharers == 0 { // its pack does that when all have ended
		dropOutput()
	}
	if c.elsewhere {
		return c.status(e), nil
	}
	return c.status(e), c.endFollowers(e)
}

// retries reports whether the job's policy starts it again, with more memory or time if the
// policy says so. The engine launches a job that needs more of anything else.
func (c *conclusion) retries(e *End, v failure.Verdict) bool {
	r, now := c.job.Retry, c.shape()
	next := r.After(retry.Failure{Class: v.Class, Action: v.Action, Launch: c.launches(), Moved: c.moved}, now, boundsOf(c.batch.Bounds(), now.Nodes))
	switch {
	case next.Why == retry.NoProgress:
		e.Seen.Reason = string(retry.NoProgress)
		return false
	case next.Why == retry.TooSmall:
		c.elsewhere = true
		return false
	case !next.Again:
		return false
	}
	more, can := growth(now, next.Shape)
	if !can {
		c.elsewhere = true
		return false
	}
	e.Final, e.Growth = false, more
	e.Seen.Status, e.Seen.Reason = offer.Waiting, "requeued"
	if r.Delay > 0 {
		e.Seen.Expected = time.Now().Add(r.Delay)
		e.Seen.Reason = "requeued, to start again in " + r.Delay.String()
	}
	return true
}

// dropOutput removes the scheduler's own output file of a completed job if it is empty:
// thousands of empty files are no help.
func dropOutput() {
	path, err := os.Readlink("/proc/self/fd/1")
	if err != nil {
		return
	}
	if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() && fi.Size() == 0 {
		os.Remove(path)
	}
}
