// Package process inspects the processes of this machine through its kernel.
package process

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/kernel"
)

// An ID names a process by its pid and when it started: a pid alone is reused.
type ID struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start,omitempty"` // as internal/kernel has it
}

// StartTime reads when a process started. It fails for one that is gone or
// only a zombie.
func StartTime(pid int) (uint64, error) {
	p, err := kernel.Look(pid)
	if err == nil && p.Ended() {
		err = os.ErrNotExist
	}
	return p.Start, err
}

// Alive reports whether the process is there and the same.
func (p ID) Alive() bool {
	if p.PID <= 1 {
		return false
	}
	start, err := StartTime(p.PID)
	return err == nil && (p.Start == 0 || p.Start == start)
}

// Await returns when a process that need not be a child is gone.
func (p ID) Await() {
	if kernel.Await(p.PID, p.Alive) {
		return
	}
	for p.Alive() {
		time.Sleep(look)
	}
}

// look is how often Await looks where the kernel cannot report a process's end.
const look = 500 * time.Millisecond

// Group signals a process group; the caller knows that its leader is there.
func Group(pid int, sig syscall.Signal) {
	if pid > 1 && sig != 0 {
		unix.Kill(-pid, sig)
	}
}

// GroupGone reports whether no process is left in a process group.
func GroupGone(pgid int) bool {
	return errors.Is(unix.Kill(-pgid, 0), unix.ESRCH)
}
