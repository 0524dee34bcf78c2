package host

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers/wrapper"
)

// How lingering processes of a job whose main process has ended are treated.
const (
	settleWait  = 200 * time.Millisecond // they may be about to end by themselves
	lingerGrace = 5 * time.Second        // then between TERM and KILL
	sweepEvery  = 2 * time.Second
)

// holds reports whether a process was started with the token and restart count.
func holds(pid int, token string, restart int) bool {
	env := environOf(pid)
	t, ok := variable(env, "MUSTER_TOKEN")
	if !ok || t != token {
		return false
	}
	n, _ := variable(env, "MUSTER_RESTART")
	return n == strconv.Itoa(restart)
}

// sessionOf is a process's session id, 0 if it is gone or a zombie.
func sessionOf(pid int) int {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 4 || f[0][0] == 'Z' || f[0][0] == 'X' {
		return 0
	}
	sid, _ := strconv.Atoi(string(f[3]))
	return sid
}

// pids lists the processes of this machine.
func pids() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var list []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil && pid != os.Getpid() {
			list = append(list, pid)
		}
	}
	return list
}

// settleGroup waits until nothing of a job's session is left, helping along,
// and gives the job back to the checkers.
func (q *queue) settleGroup(ctx context.Context, c *check) {
	rec, err := wrapper.ReadRecord(c.folder.Record())
	hard := err == nil && rec.Exit == nil // its wrapper was killed: nobody records the rest
	grace := lingerGrace
	if c.expired || c.cancelled { // they have been told, and may be saving their work
		if grace = c.spec.Grace; grace <= 0 {
			grace = defaultGrace
		}
	} else if !hard && !c.gone(ctx, settleWait) {
		c.signal(unix.SIGTERM)
	}
	if hard || !c.gone(ctx, grace) {
		for !c.gone(ctx, settleWait) && ctx.Err() == nil {
			c.signal(unix.SIGKILL)
		}
	}
	c.lingered = true
	select {
	case q.checks <- c:
	case <-ctx.Done():
	}
}

// gone waits up to d for the job's session to empty.
func (c *check) gone(ctx context.Context, d time.Duration) bool {
	const look = 10 * time.Millisecond
	for end := uptime() + d; ; {
		if groupGone(c.proc.PID) || len(c.members()) == 0 {
			return true
		}
		if uptime() >= end || ctx.Err() != nil {
			return false
		}
		time.Sleep(look)
	}
}

// members are the processes left of a start.
func (c *check) members() []int {
	// A session id is not reused while the session has members; a process
	// with that very pid which does not hold the token is a stranger's.
	sid := c.proc.PID
	if start, err := startTime(sid); err == nil && start != 0 && !holds(sid, c.spec.Token, c.restart) {
		sid = -1
	}
	var list []int
	for _, pid := range pids() {
		if s := sessionOf(pid); s != 0 && (s == sid || holds(pid, c.spec.Token, c.restart)) {
			list = append(list, pid)
		}
	}
	return list
}

func (c *check) signal(sig syscall.Signal) {
	for _, pid := range c.members() {
		unix.Kill(pid, sig)
	}
}

// signalProgram signals what a job runs, but not the shells that muster put
// around it, which would die of it: the wrapper, and a /bin/sh of the command
// unless the command sets a trap.
func (c *check) signalProgram(sig syscall.Signal) {
	if sig == 0 {
		return
	}
	trapped := strings.Contains(c.spec.Shell, "trap")
	script := []byte(string(c.folder) + "/cmd")
	for _, pid := range c.members() {
		line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if pid == c.proc.PID || !trapped && bytes.Contains(line, script) {
			continue
		}
		unix.Kill(pid, sig)
	}
}

// A sweeper finds processes that left their job's session and outlived it.
type sweeper struct {
	last    time.Duration // uptime of the last sweep
	told    map[process]time.Duration
	dirty   bool
	sample  int64
	sampled time.Duration
	known   bool
}

// pending reports whether a sweep is due before the queue may end.
func (s *sweeper) pending() bool { return s.dirty || len(s.told) > 0 }

// sweep looks for processes that hold the token of a start that has ended:
// TERM at first sight, KILL after a grace.
func (q *queue) sweep() {
	s := &q.sweeper
	now := uptime()
	if len(q.gone) == 0 && len(s.told) == 0 || now-s.last < sweepEvery {
		return
	}
	s.last = now
	told := map[process]time.Duration{}
	for _, pid := range pids() {
		env := environOf(pid)
		token, ok := variable(env, "MUSTER_TOKEN")
		if !ok {
			continue
		}
		restart, _ := variable(env, "MUSTER_RESTART")
		if !q.hasEnded(token, restart) {
			continue
		}
		start, err := startTime(pid)
		if err != nil {
			continue
		}
		p := process{PID: pid, Start: start}
		since, seen := s.told[p]
		switch {
		case !seen:
			since = now
			unix.Kill(pid, unix.SIGTERM)
		case now-since >= lingerGrace:
			unix.Kill(pid, unix.SIGKILL)
		}
		told[p] = since
	}
	s.told = told
	clear(q.gone)
}

// goneKey names one start.
func goneKey(token string, restart int) string { return token + "/" + strconv.Itoa(restart) }

// hasEnded reports whether a start is one of ours and over.
func (q *queue) hasEnded(token, restart string) bool {
	if q.gone[token+"/"+restart] {
		return true
	}
	if j := q.jobs[token]; j != nil {
		n, err := strconv.Atoi(restart)
		return err == nil && (n < j.Restart || j.over())
	}
	_, buried := q.graves[token]
	return buried
}

// oomKills is the machine's count of processes killed for memory, at most a
// second old; -1 = unknown.
func (s *sweeper) oomKills() int64 {
	if now := uptime(); !s.known || now-s.sampled > time.Second {
		s.sample, s.sampled, s.known = hostOOMKills(), now, true
	}
	return s.sample
}

// hostOOMKills reads oom_kill of /proc/vmstat. proc_vmstat(5), since Linux 4.13.
func hostOOMKills() int64 {
	b, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return -1
	}
	_, rest, ok := bytes.Cut(b, []byte("\noom_kill "))
	if !ok {
		return -1
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err := strconv.ParseInt(string(line), 10, 64)
	if err != nil {
		return -1
	}
	return n
}
