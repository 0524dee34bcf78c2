package node

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
	"github.com/muster-run/muster/providers/wrapper/guard"
)

// A start is one execution of one job in a job of the scheduler's: its job, its predecessors,
// and whether it may run.
type start struct {
	spool      Spool
	batch      Batch
	job        *providers.Job
	allocation allocation
	begin      Begin

	first  bool // no start of this job ran before
	before int  // the restart that ran before this one
	lost   int  // how many restarts did not run
}

// number is which launch of the job this is, counted from 1.
func (s *start) number() int { return max(s.job.Attempt, 1) + s.begin.Restart }

// launches is how many launches of the command the job has had with this one.
func (s *start) launches() int { return s.number() - s.lost }

// run is the whole life of a start. Its result is the exit status for the scheduler: 0 only if
// the command completed and its outputs were verified.
func (s *start) run() (int, error) {
	if why := s.refusal(); why != "" {
		return ExitRefused, s.refuse(why)
	}
	if why, class := s.noRoom(); why != "" && s.allocation.sharers == 0 { // else its pack has looked
		return s.postpone(why, class)
	}
	holder := s.spool.Claimed(s.begin.Token)
	if s.first = holder == ""; holder == s.begin.ID {
		n, err := s.allocation.restarts()
		if err != nil {
			return exitBroken, fmt.Errorf("the job ran before, and it is not known how often: %w", err)
		}
		s.begin.Restart = n
	}
	earlier := s.outlived()
	if earlier != nil && earlier.here(s) {
		if code, over, err := s.succeed(earlier); over || err != nil {
			return code, err
		}
		earlier = nil
	}
	switch got, err := s.spool.take(s.begin); {
	case err != nil:
		return exitBroken, err
	case got == duplicate:
		return s.duplicate()
	case got == over:
		if e, ok := s.spool.LastEnd(s.begin.Token); ok && e.Completed() {
			return 0, nil // the scheduler had not heard of it: its successors go on
		}
		return ExitRefused, nil
	}
	s.before, s.lost = s.spool.earlier(s.begin)
	if earlier != nil && earlier.Token == s.begin.Token {
		if e, over := s.awaitSuperseded(earlier, supersededWait); over {
			return s.adopt(e)
		}
	}
	if why := s.notAgain(); why != "" {
		return ExitRefused, s.giveUp(why)
	}
	if err := writeJSON(s.spool.path("starts", RecordName(s.begin.Token, s.begin.Restart)), s.begin); err != nil {
		return exitBroken, fmt.Errorf("record of the start: %w", err)
	}
	s.awaitDelay() // a duplicate start reads the record of this one
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGCONT)
	c := &command{start: s, signals: signals}
	e, v := c.run()
	return (&conclusion{start: s, moved: c.moved()}).finish(e, v)
}

// devices are the GPUs that the scheduler gave the job. gres.conf(5), File.
func devices(env scheduler.Environment) []string {
	if !slices.ContainsFunc(env.GPUs, func(name string) bool { return os.Getenv(name) != "" }) {
		return nil
	}
	list := os.Getenv("CUDA_VISIBLE_DEVICES")
	if list == "" || list == "NoDevFiles" {
		return nil
	}
	return strings.Split(list, ",")
}

// seen is an observation of this start with a status.
func (s *start) seen(status offer.Status) offer.Observation {
	o := offer.Observation{Token: s.begin.Token, Presence: offer.Found, Handle: s.begin.ID, Status: status, Attempt: s.number(),
		Started: s.begin.At, Ended: time.Now(), Node: s.begin.Node, GPUs: s.begin.GPUs, Pool: s.begin.Pool}
	if len(s.begin.GPUs) > 0 {
		o.Driver = gpu.Driver()
	}
	o.Got = s.spool.Got(s.job, Grant{Restart: s.begin.Restart, Cores: s.allocation.cores, Pack: s.allocation.sharers})
	return o
}

func (s *start) record(e End) error {
	err := writeJSON(s.spool.path("ends", RecordName(e.Token, e.Begin.Restart)), e)
	if err != nil {
		return fmt.Errorf("record of the end: %w", err)
	}
	return nil
}

// status is the exit status for the scheduler. A job that exited 0 and left bad outputs has
// failed. A status for which the site requeues or holds jobs is replaced: an ended job would
// stay in the queue.
func (s *start) status(e End) int {
	switch {
	case e.Completed():
		return 0
	case e.Seen.Exit != nil && *e.Seen.Exit != 0 && !slices.Contains(s.batch.Bounds().Requeue, *e.Seen.Exit):
		return *e.Seen.Exit
	}
	return 1
}

// ground describes the files that this start may find at its output paths.
func (s *start) ground() guard.Start {
	l := guard.Start{Job: s.job, First: s.first, Left: s.leftBefore()}
	switch {
	case !s.first:
		l.Before = attempt.LaunchName(s.begin.Token, wrapper.Attempt(s.job, s.before))
	case s.job.Guard != nil:
		l.Before = s.job.Guard.Before
	}
	return l
}

// leftBefore are the outputs of the start before this one, nil where it recorded none.
func (s *start) leftBefore() []offer.Output {
	if s.first {
		return nil
	}
	e, err := s.spool.ReadEnd(s.begin.Token, s.before)
	if err != nil {
		return nil
	}
	return e.Seen.Outputs
}
