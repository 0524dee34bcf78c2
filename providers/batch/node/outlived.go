package node

import (
	"context"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/wrapper"
)

// A scheduler gives up the jobs of a node whose daemon does not answer, and starts them again,
// although their processes may still run: slurm.conf(5), SlurmdTimeout; pbs_server_attributes(7B),
// node_fail_requeue. Seen on OpenPBS 23.06: they survive a pbs_mom that is killed, and its
// restart. A job must not run twice at once. Therefore a start on the same node waits for the
// earlier launch and reports its end; a launch ends its command once the job has started
// elsewhere; and a start elsewhere leaves it time for that.
const (
	supersededLook = 15 * time.Second
	// supersededWait is a look, the 60 s for which nfs(5) may hide new names (acdirmax), and the
	// time that a command gets to end.
	supersededWait = 90 * time.Second
)

// An unended is a launch that recorded no end, and its number.
type unended struct {
	Begin
	number int
}

// outlived is the launch before this one if it recorded no end; nil if it did, or if nothing is
// known of it.
func (s *start) outlived() *unended {
	token, restart, number := s.begin.Token, s.begin.Restart, 0
	switch {
	case restart > 0 && s.spool.Claimed(token) == s.begin.ID:
		restart, _ = s.spool.earlier(s.begin)
		number = wrapper.Attempt(s.job, restart)
	case restart == 0 && s.job.Guard != nil: // muster gave up a job, and submitted this one
		var n string
		token, n, _ = strings.Cut(s.job.Guard.Before, ".")
		number, _ = strconv.Atoi(n)
		restart = s.spool.lastClaim(token)
	}
	if number == 0 {
		return nil
	}
	b, err := s.spool.ReadBegin(token, restart)
	if err != nil || b.Process == nil {
		return nil
	}
	if _, err := s.spool.ReadEnd(token, restart); err == nil {
		return nil
	}
	return &unended{Begin: b, number: number}
}

// here reports whether a launch began on the node of this start.
func (u *unended) here(s *start) bool { return u.Node == s.begin.Node }

// succeed looks after an earlier launch on this node: it waits for one of the same job, and ends
// one of a job that muster gave up. It reports whether that leaves nothing to run, and the status
// for the scheduler.
func (s *start) succeed(earlier *unended) (code int, over bool, err error) {
	if earlier.Token != s.begin.Token {
		s.kill(earlier)
		return 0, false, nil
	}
	return s.follow(earlier)
}

// follow waits for an earlier launch of the same job on this node. It reports whether that
// leaves nothing to run, and the status for the scheduler.
func (s *start) follow(earlier *unended) (code int, over bool, err error) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passedOn...)
	defer signal.Stop(signals)
	if err := s.spool.recordDuplicate(s.begin); err != nil {
		return ExitRefused, true, err
	}
	e, ended, told := (&duplicateStart{start: s, first: earlier.Begin, signals: signals}).await()
	switch {
	case ended && e.Final:
		code, err := s.adopt(e)
		return code, true, err
	case ended && !e.Outside:
		return s.status(e), true, (&requeue{start: s, end: e}).run() // it had asked for that, and the scheduler forgot it
	case told:
		return 1, true, nil // the scheduler knows why
	}
	s.kill(earlier)
	return 0, false, nil
}

// adopt takes the end of an earlier launch for that of this start, and returns the status for
// the scheduler. An end without success is recorded under this start's number, too: the engine
// may already have read that the earlier launch was requeued.
func (s *start) adopt(e End) (code int, err error) {
	if !e.Completed() {
		err = writeJSON(s.spool.path("ends", RecordName(e.Token, s.begin.Restart)), e)
	}
	return s.status(e), err
}

// kill ends an earlier launch on this node, and what it left behind.
func (s *start) kill(earlier *unended) {
	if earlier.Process.Alive() {
		unix.Kill(earlier.Process.PID, unix.SIGTERM)
		for end := time.Now().Add(s.grace() + time.Second); earlier.Process.Alive() && time.Now().Before(end); {
			time.Sleep(duplicateLook / 10)
		}
		if earlier.Process.Alive() {
			unix.Kill(earlier.Process.PID, unix.SIGKILL)
		}
	}
	command := attempt.Processes{Job: &providers.Job{Token: earlier.Token}, Attempt: earlier.number}
	command.Signal(unix.SIGKILL)
	command.Gone(context.Background(), duplicateLook)
}

// awaitSuperseded waits for the end of an earlier launch on another node, which ends its command
// once it sees this start's claim. It reports whether that launch ended by itself, so that
// nothing is left to run.
func (s *start) awaitSuperseded(earlier *unended, wait time.Duration) (e End, over bool) {
	for end := time.Now().Add(wait); ; time.Sleep(duplicateLook) {
		e, err := s.spool.ReadEnd(earlier.Token, earlier.Restart)
		if err == nil {
			return e, e.Final && !e.Outside
		}
		if time.Now().After(end) {
			return End{}, false
		}
	}
}

// superseded reports whether the job has started elsewhere, was submitted again, or was
// cancelled: the scheduler cannot tell a launch on a node whose daemon does not answer.
func (s *start) superseded() bool {
	return s.spool.nextClaim(s.begin.Token, s.begin.Restart) > 0 || s.cancelled()
}
