// Package sweep ends processes that left their job's session and outlived it:
// TERM at first sight, KILL after a grace.
package sweep

import (
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers/host/boot"
	"github.com/muster-run/muster/providers/host/process"
)

// Grace is how long a process has between TERM and KILL.
const Grace = 5 * time.Second

// hopeless is how long one that was told to end is waited for: after KILL it ends
// when the file server that it waits for answers again, and needs nobody for that.
const hopeless = time.Minute

// every is how long one sweep comes after another at least.
const every = 2 * time.Second

// A Sweeper knows what has ended since it last swept, and whom it has told to
// end. The zero value has nothing to do; one goroutine owns it.
type Sweeper struct {
	heir  bool            // it may have been left processes by an earlier queue
	last  time.Duration   // uptime of the last sweep
	ended map[string]bool // token/attempt, since then
	told  map[process.ID]time.Duration
}

// Ended takes in that a start has ended.
func (s *Sweeper) Ended(token string, attempt int) {
	if s.ended == nil {
		s.ended = map[string]bool{}
	}
	s.ended[token+"/"+strconv.Itoa(attempt)] = true
}

// Inherit has the next sweep look for what an earlier queue, which may have been
// killed over it, did not come to end.
func (s *Sweeper) Inherit() { s.heir = true }

// Pending reports whether a sweep is due before the queue may end: the next
// queue knows no more who has just ended.
func (s *Sweeper) Pending() bool {
	now := boot.Uptime()
	for _, since := range s.told {
		if now-since < hopeless {
			return true
		}
	}
	return s.heir || len(s.ended) > 0
}

// Sweep looks for processes that hold the token of a start that has ended; over
// knows of those that ended earlier.
func (s *Sweeper) Sweep(over func(token, attempt string) bool) {
	now := boot.Uptime()
	if !s.Pending() || now-s.last < every {
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
		case !seen && !s.ended[token+"/"+attempt] && !over(token, attempt):
			continue
		case !seen:
			since = now
			unix.Kill(pid, unix.SIGTERM)
		case now-since >= Grace:
			unix.Kill(pid, unix.SIGKILL)
		}
		told[p] = since
	}
	s.told, s.heir = told, false
	clear(s.ended)
}
