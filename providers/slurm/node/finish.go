package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/retry"
)

// finish records an end, has Slurm start the job again if its policy says so,
// and gives the status for Slurm.
func (s *start) finish(e End, v failure.Verdict) (int, error) {
	if s.folder != "" {
		os.RemoveAll(string(s.folder))
	}
	next := e
	again := e.Seen.Status == offer.Failed && !e.Outside && s.retries(&next, v)
	stopped := ""
	if !e.Outside {
		stopped = s.count(next, v, again)
	}
	if again && stopped != "" {
		again, e.Seen.Reason = false, offer.Stopped+stopped
	} else {
		e = next
	}
	if again {
		err := s.record(e)
		if err == nil {
			if err = s.requeue(e); err == nil {
				return s.status(e), nil
			}
		}
		e.Final, e.Seen.Status, e.Seen.Expected = true, offer.Failed, time.Time{}
		e.Seen.Reason = "it could not be requeued: " + err.Error()
		s.elsewhere = true
	}
	if e.Outside {
		e.Final = false // Slurm knows
	}
	if e.Final {
		os.Remove(s.batch.secrets(s.job.Token))
	}
	if e.Completed() {
		s.forgetMarks()
	}
	if err := s.record(e); err != nil {
		return exitBroken, err // not recorded is not verified
	}
	if e.Completed() {
		s.dropOutput()
	}
	return s.status(e), s.over(e)
}

// over ends what comes after a job that has failed for good.
func (s *start) over(e End) error {
	if !e.Final || e.Completed() || s.elsewhere {
		return nil
	}
	ctx, stop := context.WithTimeout(context.Background(), scontrolTimeout)
	defer stop()
	return s.endFollowers(ctx)
}

// status is what Slurm is told. A job that exited 0 and left bad outputs has
// failed. A status that the site requeues or holds jobs for is not passed on:
// what ended for good would stay in the queue.
func (s *start) status(e End) int {
	switch {
	case e.Completed():
		return 0
	case e.Seen.Exit != nil && *e.Seen.Exit != 0 && !slices.Contains(s.batch.Bounds().Requeue, *e.Seen.Exit):
		return *e.Seen.Exit
	}
	return 1
}

// retries reports whether the policy that rides with the job starts it again,
// with more memory or time if it says so. What needs more of anything else
// takes a new Slurm job, and is for the engine.
func (s *start) retries(e *End, v failure.Verdict) bool {
	r, now := s.job.Retry, s.shape()
	next := r.After(retry.Failure{Class: v.Class, Action: v.Action, Launch: s.launches(), Moved: s.moved()}, now, s.batch.Bounds().job(now.Nodes))
	switch {
	case next.Why == retry.NoProgress:
		e.Seen.Reason = string(retry.NoProgress)
		return false
	case next.Why == retry.TooSmall:
		s.elsewhere = true
		return false
	case !next.Again:
		return false
	}
	more, can := growth(now, next.Shape)
	if !can {
		s.elsewhere = true
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

// Bounds of a requeue.
const (
	scontrolTimeout = 90 * time.Second // longer than slurm.conf's usual MessageTimeout, and a second try
	requeueWait     = 2 * time.Minute  // for Slurm to end this script after it
)

// requeue puts the Slurm job back into the queue under its id, so that what
// depends on it goes on waiting, and waits to be ended.
func (s *start) requeue(e End) error {
	ending := make(chan os.Signal, 1)
	signal.Notify(ending, syscall.SIGTERM)
	off := s.without(context.Background(), e, s.ask)
	if len(ending) > 0 {
		return nil // Slurm ends it, for a cause of its own: a requeue would undo somebody's scancel
	}
	ctx, stop := context.WithTimeout(context.Background(), scontrolTimeout)
	defer stop()
	for try := 0; ; try++ {
		err := scontrol(ctx, "requeue", s.begin.ID)
		if err == nil {
			break
		}
		if len(ending) > 0 {
			break // it was heard: Slurm ends this script
		}
		if ctx.Err() != nil || try == 2 {
			return err
		}
		time.Sleep(5 * time.Second)
	}
	s.amend(ctx, e, off)
	select {
	case <-ending:
	case <-time.After(requeueWait):
	}
	return nil
}

// amend changes what the requeued job asks for, and which nodes it keeps off, in the moment between the
// requeue and the end of this script: Slurm sends TERM, and KILL after
// KillWait. slurm.conf(5). A job that does not get what it needs does not run:
// its next start sees that it was not granted.
func (s *start) amend(ctx context.Context, e End, off string) {
	if g := e.Growth; g != nil {
		if err := scontrol(ctx, append([]string{"update", "JobId=" + s.begin.ID}, g.terms()...)...); err == nil {
			g.Granted = true
			s.record(e) // if it fails, the next start does not run
		}
	}
	if off != "" { // in vain if Slurm was quicker: then it may come back to the same node
		scontrol(ctx, "update", "JobId="+s.begin.ID, "ExcNodeList="+off)
	}
	if d := s.job.Retry.Delay; d > 0 { // in vain if Slurm was quicker: then the next start waits
		scontrol(ctx, "update", "JobId="+s.begin.ID, fmt.Sprintf("StartTime=now+%d", int(d.Seconds())))
	}
}

// scontrol is run again when it was killed: Slurm's TERM for this script, which
// comes once, reaches all of its processes, and what it was to do may not be
// done yet.
func scontrol(ctx context.Context, args ...string) error {
	for try := 0; ; try++ {
		out, err := exec.CommandContext(ctx, "scontrol", args...).CombinedOutput()
		var exit *exec.ExitError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &exit) && !exit.Exited() && ctx.Err() == nil && try < 2:
			continue
		}
		return fmt.Errorf("scontrol %s: %w: %s", args[0], err, lastLine(out))
	}
}

// forgetMarks lets a later run of the same work have a baseline of its own.
func (s *start) forgetMarks() {
	hash := s.job.ResultHash
	if hash == "" {
		hash = s.job.Token
	}
	os.Remove(s.spool.path("marks", hash))
}

// dropOutput removes Slurm's own output file of a job that did well and had
// nothing to say: thousands of empty files are no help.
func (s *start) dropOutput() {
	path, err := os.Readlink("/proc/self/fd/1")
	if err != nil {
		return
	}
	if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() && fi.Size() == 0 {
		os.Remove(path)
	}
}
