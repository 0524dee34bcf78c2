package queue

import (
	"context"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/kernel"
	"github.com/muster-run/muster/providers/host/process"
)

// runStart makes a process of a start, waits for its end and, if that is quick, verifies its
// outputs. It is the one goroutine of a running job, and owns its start until it returns it.
func (as *attempts) runStart(ctx context.Context, s *start) {
	c := as.starts.checkOf(s)
	s.err = as.starts.launch(s)
	s.stop()
	closeAll(s.locks) // the job holds them now
	if s.err != nil {
		as.post(ctx, func() { as.notStarted(s) })
		return
	}
	c.proc = s.proc
	c.marks = s.marks
	s.peak.Watch(s.proc.PID)
	if !s.await(c) {
		return // not for us to say any more; the next queue will
	}
	if c.status == 0 && !s.signalled() && c.group().Quiet() && c.light(ctx) {
		c.conclude(ctx)
		c.done = true
	}
	as.post(ctx, func() { as.childGone(s, c) })
}

// A child is a process that is ours to wait for. Signals and the last wait
// exclude one another, so that a signal never meets a number used again. The
// zero value has not been started.
type child struct {
	mu      sync.Mutex
	pid     int // 0 before the start and after the end
	ended   bool
	pending syscall.Signal // came before the start
	told    bool
	pidfd   int // -1: the kernel has none
}

// begun records the process, and passes on the signals that came before it.
func (c *child) begun(pid, pidfd int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pid, c.pidfd = pid, pidfd
	process.Group(pid, c.pending)
}

// signal sends a signal to the child's process group, now or when it starts.
func (c *child) signal(sig syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = true
	switch {
	case c.pid != 0:
		process.Group(c.pid, sig)
	case !c.ended && sig != unix.SIGCONT:
		c.pending = sig
	}
}

func (c *child) signalled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.told
}

func (c *child) number() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pid
}

// await waits for the child's end and takes its status and usage.
func (s *start) await(c *check) bool {
	kernel.AwaitFork(s.proc.PID, s.pidfd)
	s.peak.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pid, s.ended = 0, true
	for {
		pid, err := unix.Wait4(s.proc.PID, &c.status, 0, &c.usage)
		if err == unix.EINTR {
			continue
		}
		c.waited = err == nil && pid == s.proc.PID
		return c.waited
	}
}
