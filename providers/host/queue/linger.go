package queue

import (
	"context"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers/host/boot"
	"github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/wrapper"
)

// How lingering processes of a job whose main process has ended are treated.
const (
	settleWait  = 200 * time.Millisecond // they may be about to end by themselves
	lingerGrace = 5 * time.Second        // then between TERM and KILL
	sweepEvery  = 2 * time.Second
)

// settleGroup waits until nothing of a job's session is left, helping along,
// and gives the job back to the checkers.
func (q *queue) settleGroup(ctx context.Context, c *check) {
	rec, err := wrapper.ReadRecord(c.Folder.Record())
	hard := err == nil && rec.Exit == nil // its wrapper was killed: nobody records the rest
	grace := lingerGrace
	if c.Expired || c.Cancelled { // they have been told, and may be saving their work
		if grace = c.Spec.Grace; grace <= 0 {
			grace = defaultGrace
		}
	} else if !hard && !c.Group().Gone(ctx, settleWait) {
		c.Group().Signal(unix.SIGTERM)
	}
	if hard || !c.Group().Gone(ctx, grace) {
		for !c.Group().Gone(ctx, settleWait) && ctx.Err() == nil {
			c.Group().Signal(unix.SIGKILL)
		}
	}
	c.lingered = true
	select {
	case q.checks <- c:
	case <-ctx.Done():
	}
}

// A sweeper finds processes that left their job's session and outlived it.
type sweeper struct {
	last    time.Duration // uptime of the last sweep
	told    map[process.ID]time.Duration
	sample  int64
	sampled time.Duration
	known   bool
}

// sweeping reports whether a sweep is due before the queue may end: the next
// queue knows no more who has just ended.
func (q *queue) sweeping() bool { return len(q.gone) > 0 || len(q.sweeper.told) > 0 }

// sweep looks for processes that hold the token of a start that has ended:
// TERM at first sight, KILL after a grace.
func (q *queue) sweep() {
	s := &q.sweeper
	now := boot.Uptime()
	if !q.sweeping() || now-s.last < sweepEvery {
		return
	}
	s.last = now
	told := map[process.ID]time.Duration{}
	for _, pid := range process.All() {
		env := process.Environ(pid)
		token, ok := process.Variable(env, "MUSTER_TOKEN")
		if !ok {
			continue
		}
		start, err := process.StartTime(pid)
		if err != nil {
			continue
		}
		p := process.ID{PID: pid, Start: start}
		since, seen := s.told[p] // then its job may be forgotten by now
		attempt, _ := process.Variable(env, "MUSTER_ATTEMPT")
		switch {
		case !seen && !q.hasEnded(token, attempt):
			continue
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
func goneKey(token string, attempt int) string { return token + "/" + strconv.Itoa(attempt) }

// hasEnded reports whether a start is one of ours and over.
func (q *queue) hasEnded(token, attempt string) bool {
	if q.gone[token+"/"+attempt] {
		return true
	}
	if j := q.jobs[token]; j != nil {
		n, err := strconv.Atoi(attempt)
		return err == nil && (n < j.attempt() || j.over())
	}
	_, buried := q.graves[token]
	return buried
}

// oomKills is the machine's count of processes killed for memory, at most a
// second old; -1 = unknown.
func (q *queue) oomKills() int64 {
	s := &q.sweeper
	if now := boot.Uptime(); !s.known || now-s.sampled > time.Second {
		s.sample, s.sampled, s.known = q.killed(), now, true
	}
	return s.sample
}
