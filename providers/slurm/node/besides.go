package node

import (
	"context"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	proc "github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
)

// besidesLook is how often a start looks whether the one beside it has ended.
const besidesLook = time.Second

// besides is the life of a start that finds its claim taken. Where this very
// Slurm job has it, under this number, a controller that was killed forgot that
// it had launched the job, and launched it again: the first one may go on, and
// Slurm is told what that comes to. Any other is a copy, and refused.
func (s *start) besides() (int, error) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passedOn...)
	if err := s.spool.recordDuplicate(s.begin); err != nil {
		return ExitRefused, err
	}
	first, err := s.spool.ReadBegin(s.begin.Token, s.begin.Restart)
	if err != nil || first.ID != s.begin.ID {
		return ExitRefused, nil
	}
	e, ended, told := s.await(first, signals)
	gone := s.sees(first) || !ended && s.bootedSince(first)
	if ended && (e.Final || told) {
		return s.status(e), nil
	}
	if ended && !e.Outside {
		return s.status(e), s.requeue(e) // it had asked for that, and Slurm forgot it
	}
	command := attempt.Group{Job: s.job, Attempt: wrapper.Attempt(s.job, s.begin.Restart)}
	switch {
	case !ended && !gone, len(command.Members()) > 0:
		return ExitRefused, nil // it may go on where it cannot be seen from here
	case told:
		return 1, nil // Slurm knows why
	case !ended:
		e = End{Begin: first}
		e.Seen = s.seen(offer.Failed)
		e.Seen.Started, e.Seen.GPUs = first.At, first.GPUs
	}
	e.Final, e.Outside, e.Seen.Status = true, false, offer.Failed
	e.Seen.Class, e.Seen.Reason = failure.NodeFailure, "Slurm forgot that it ran, and ended it without a word"
	e.Signature = e.Seen.Class + ": " + e.Seen.Reason
	return s.finish(e, failure.Verdict{Class: e.Seen.Class, Line: e.Seen.Reason, Signature: e.Signature})
}

// passedOn are the signals by which Slurm speaks to a job's script: the only one
// that it knows of is this one's.
var passedOn = []os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2}

// sees reports whether this start can tell whether the process of another lives.
func (s *start) sees(first Begin) bool { return first.Node == s.begin.Node && first.Process != nil }

// await waits for the end of the start beside this one, for as long as that
// lives, and passes on to it what Slurm tells this one: told says that it was to
// end. Who asks for a requeue lives until it has it.
func (s *start) await(first Begin, signals <-chan os.Signal) (e End, ended, told bool) {
	for {
		lives := s.sees(first) && first.Process.Alive()
		e, err := s.spool.ReadEnd(s.begin.Token, s.begin.Restart)
		if ended = err == nil; ended && e.Final || !lives {
			return e, ended, told
		}
		select {
		case sg := <-signals:
			number := sg.(syscall.Signal)
			told = told || number != unix.SIGUSR1 && number != unix.SIGUSR2
			if first.Process.Alive() {
				unix.Kill(first.Process.PID, number)
			}
		case <-time.After(besidesLook):
		}
	}
}

// bootMargin is by how much clocks may differ; a node takes longer to come up.
const bootMargin = time.Minute

// bootedSince reports whether the node of another start has come up anew since it
// began: what ran there is gone. One that is down may be cut off, and go on.
func (s *start) bootedSince(first Begin) bool {
	ctx, stop := context.WithTimeout(context.Background(), withoutTimeout)
	defer stop()
	now, err := s.ask(ctx, "scontrol", "-o", "show", "node", first.Node)
	if err != nil {
		return false
	}
	for f := range strings.FieldsSeq(now) {
		if at, ok := strings.CutPrefix(f, "BootTime="); ok {
			boot, err := strconv.ParseInt(at, 10, 64) // SLURM_TIME_FORMAT is set so
			return err == nil && time.Unix(boot, 0).After(first.At.Add(bootMargin))
		}
	}
	return false
}

// self is this process, for a start beside it.
func self(pid int) *proc.ID {
	at, err := proc.StartTime(pid)
	if err != nil {
		return nil
	}
	return &proc.ID{PID: pid, Start: at}
}
