package queue

import (
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/kernel"
	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/host/process"
)

// abandonAfter is how long to wait for a process after it was asked to end. A killed process that
// waits for a file server ends by itself when the server answers again.
const abandonAfter = time.Minute

// sweepEvery is how long one sweep comes after another at least.
const sweepEvery = 2 * time.Second

// A sweeper ends processes that left their job's session and outlived the job: first with
// TERM, after lingerGrace with KILL. It knows which attempts have ended since the last sweep,
// and which processes it has signalled. The zero value has nothing to do; one goroutine owns
// it.
type sweeper struct {
	heir  bool            // it may have been left processes by an earlier queue
	last  time.Duration   // uptime of the last sweep
	ended map[string]bool // token/attempt, since then
	told  map[process.ID]time.Duration
}

// end notes that an attempt has ended.
func (s *sweeper) end(token string, attempt int) {
	if s.ended == nil {
		s.ended = map[string]bool{}
	}
	s.ended[token+"/"+strconv.Itoa(attempt)] = true
}

// inherit has the next sweep look for processes that an earlier queue did not end; it may have
// been killed meanwhile.
func (s *sweeper) inherit() { s.heir = true }

// pending reports whether a sweep is due before the queue may end: the next queue does not
// know which attempts have just ended.
func (s *sweeper) pending() bool {
	now := monotonic.Uptime()
	for _, since := range s.told {
		if now-since < abandonAfter {
			return true
		}
	}
	return s.heir || len(s.ended) > 0
}

// sweep looks for processes that hold the token of an ended attempt; over knows those that
// ended before the last sweep.
func (s *sweeper) sweep(over func(token, attempt string) bool) {
	now := monotonic.Uptime()
	if !s.pending() || now-s.last < sweepEvery {
		return
	}
	s.last = now
	told := map[process.ID]time.Duration{}
	for _, pid := range process.All() {
		env := kernel.Environ(pid)
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
		case now-since >= lingerGrace:
			unix.Kill(pid, unix.SIGKILL)
		}
		told[p] = since
	}
	s.told, s.heir = told, false
	clear(s.ended)
}
