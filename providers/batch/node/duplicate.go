package node

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	proc "github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
)

// duplicateLook is how often a duplicate start checks whether the first one has ended.
const duplicateLook = time.Second

// A duplicateStart finds its claim taken by the same job under the same number: a scheduler
// that was killed forgot that it had launched the job, and launched it again. The first start
// may continue, and this one reports to the scheduler how it ends.
type duplicateStart struct {
	*start
	first   Begin
	signals <-chan os.Signal
}

// duplicate is the life of a start that finds its claim taken. It refuses a copy, which is a
// claim of another job.
func (s *start) duplicate() (int, error) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passedOn...)
	if err := s.spool.recordDuplicate(s.begin); err != nil {
		return ExitRefused, err
	}
	first, err := s.spool.ReadBegin(s.begin.Token, s.begin.Restart)
	if err != nil || first.ID != s.begin.ID {
		return ExitRefused, nil
	}
	return (&duplicateStart{start: s, first: first, signals: signals}).run()
}

// run waits for the first start and gives the status for the scheduler.
func (d *duplicateStart) run() (int, error) {
	first := d.first
	e, ended, told := d.await()
	gone := d.sees() || !ended && d.bootedSince()
	if ended && (e.Final || told) {
		return d.status(e), nil
	}
	if ended && !e.Outside {
		return d.status(e), (&requeue{start: d.start, end: e}).run() // it had asked for that, and the scheduler forgot it
	}
	command := attempt.Processes{Job: d.job, Attempt: wrapper.Attempt(d.job, d.begin.Restart)}
	switch {
	case !ended && !gone, len(command.Members()) > 0:
		return ExitRefused, nil // it may go on where it cannot be seen from here
	case told:
		return 1, nil // the scheduler knows why
	case !ended:
		e = End{Begin: first}
		e.Seen = d.seen(offer.Failed)
		e.Seen.Started, e.Seen.GPUs = first.At, first.GPUs
	}
	e.Final, e.Outside, e.Seen.Status = true, false, offer.Failed
	e.Seen.Class, e.Seen.Reason = failure.NodeFailure, d.allocation.name()+" launched it twice, and the first launch left no end"
	e.Signature = e.Seen.Class + ": " + e.Seen.Reason
	return (&conclusion{start: d.start}).finish(e, failure.Verdict{Class: e.Seen.Class, Line: e.Seen.Reason, Signature: e.Signature})
}

// passedOn are the signals that a scheduler sends to a job's script. It knows only this start,
// so this start passes them on.
var passedOn = []os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2}

// sees reports whether this start can check that the first one's process is alive.
func (d *duplicateStart) sees() bool {
	return d.first.Node == d.begin.Node && d.first.Process != nil
}

// await waits for the end of the first start while its process lives, and passes the
// scheduler's signals on to it; told reports whether one of them asked it to end. A start that
// asks for a requeue lives until the scheduler has requeued it.
func (d *duplicateStart) await() (e End, ended, told bool) {
	for {
		lives := d.sees() && d.first.Process.Alive()
		e, err := d.spool.ReadEnd(d.first.Token, d.first.Restart)
		if ended = err == nil; ended && e.Final || !lives {
			return e, ended, told
		}
		select {
		case sg := <-d.signals:
			number := sg.(syscall.Signal)
			told = told || number != unix.SIGUSR1 && number != unix.SIGUSR2
			if d.first.Process.Alive() {
				unix.Kill(d.first.Process.PID, number)
			}
		case <-time.After(duplicateLook):
		}
	}
}

// bootMargin is the most that clocks may differ; a node takes longer to boot.
const bootMargin = time.Minute

// bootedSince reports whether the first start's node has booted since that start began, so
// that its processes are gone. A node that is down may only be cut off.
func (d *duplicateStart) bootedSince() bool {
	ctx, stop := context.WithTimeout(context.Background(), withoutTimeout)
	defer stop()
	boot := d.allocation.scheduler.Booted(ctx, d.first.Node)
	return !boot.IsZero() && boot.After(d.first.At.Add(bootMargin))
}

// self is this process, for a start beside it.
func self(pid int) *proc.ID {
	at, err := proc.StartTime(pid)
	if err != nil {
		return nil
	}
	return &proc.ID{PID: pid, Start: at}
}
