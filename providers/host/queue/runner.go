package queue

import (
	"context"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/muster-run/muster/providers/host/process"
	"golang.org/x/sys/unix"
)

// runStart makes a process of a start, waits for its end and, if that is
// quickly done, checks what it left. It is the one goroutine of a running
// job; it owns its start until it hands it back.
func (q *queue) runStart(ctx context.Context, s *start) {
	c := q.checkOf(s)
	s.err = q.launch(s)
	s.stop()
	closeAll(s.locks) // the job holds them now
	if s.err != nil {
		q.post(ctx, func() { q.notStarted(s) })
		return
	}
	c.Proc = s.proc
	c.Marks = s.marks
	s.peak.Watch(s.proc.PID)
	if !s.await(c) {
		return // not for us to say any more; the next queue will
	}
	if c.Status == 0 && !s.signalled() && c.Group().Quiet() && c.Light(ctx) {
		c.Examine(ctx)
		c.done = true
	}
	q.post(ctx, func() { q.childGone(s, c) })
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

// begun takes the process in, and passes on what has been asked for.
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
	if s.pidfd < 0 || !awaitFD(s.pidfd, s.proc.PID) {
		// Before Linux 5.3: a thread waits, and leaves the child to the last wait.
		var info unix.Siginfo
		for unix.Waitid(unix.P_PID, s.proc.PID, &info, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
	}
	s.peak.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pid, s.ended = 0, true
	for {
		pid, err := unix.Wait4(s.proc.PID, &c.Status, 0, &c.Usage)
		if err == unix.EINTR {
			continue
		}
		c.Waited = err == nil && pid == s.proc.PID
		return c.Waited
	}
}

// awaitFD parks the goroutine until a pidfd says that its process has ended,
// and closes it. pidfd_open(2): it is readable then.
func awaitFD(fd, pid int) bool {
	if unix.SetNonblock(fd, true) != nil {
		unix.Close(fd)
		return false
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil || f.SetReadDeadline(time.Time{}) != nil { // not to be polled
		return false
	}
	return raw.Read(func(uintptr) bool {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
		return err == nil && info.Signo != 0 || err != nil && err != unix.EINTR
	}) == nil
}
