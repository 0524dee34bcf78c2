package node

import (
	"time"

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
	if err := s.spool.recordDuplicate(s.begin); err != nil {
		return ExitRefused, err
	}
	first, err := s.spool.ReadBegin(s.begin.Token, s.begin.Restart)
	if err != nil || first.ID != s.begin.ID {
		return ExitRefused, nil
	}
	for {
		lives := first.Node == s.begin.Node && first.Process != nil && first.Process.Alive()
		if e, err := s.spool.ReadEnd(s.begin.Token, s.begin.Restart); err == nil {
			return s.status(e), nil
		}
		if !lives {
			break
		}
		time.Sleep(besidesLook)
	}
	command := attempt.Group{Job: s.job, Attempt: wrapper.Attempt(s.job, s.begin.Restart)}
	if first.Node != s.begin.Node || first.Process == nil || len(command.Members()) > 0 {
		return ExitRefused, nil // it may go on where it cannot be seen from here
	}
	e := End{Begin: first, Final: true}
	e.Seen = s.seen(offer.Failed)
	e.Seen.Started, e.Seen.GPUs = first.At, first.GPUs
	e.Seen.Class, e.Seen.Reason = failure.NodeFailure, "Slurm forgot that it ran, and ended it without a word"
	e.Signature = e.Seen.Class + ": " + e.Seen.Reason
	return s.finish(e, failure.Verdict{Class: e.Seen.Class, Line: e.Seen.Reason, Signature: e.Signature})
}

// self is this process, for a start beside it.
func self(pid int) *proc.ID {
	at, err := proc.StartTime(pid)
	if err != nil {
		return nil
	}
	return &proc.ID{PID: pid, Start: at}
}
