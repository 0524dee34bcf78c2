// Package process knows the processes of this machine by what /proc says of
// them.
package process

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// An ID names a process by its pid and when it started: a pid alone is reused.
type ID struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start,omitempty"` // clock ticks since boot; proc_pid_stat(5), field 22
}

// StartTime reads when a process started. It fails for one that is gone or
// only a zombie.
func StartTime(pid int) (uint64, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	// The second field is the name in parentheses and may hold anything.
	i := bytes.LastIndexByte(b, ')')
	fields := bytes.Fields(b[i+1:])
	if i < 0 || len(fields) < 20 {
		return 0, errors.New("malformed /proc/PID/stat")
	}
	if s := fields[0][0]; s == 'Z' || s == 'X' {
		return 0, os.ErrNotExist
	}
	return strconv.ParseUint(string(fields[19]), 10, 64)
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
	if fd, err := unix.PidfdOpen(p.PID, 0); err == nil {
		defer unix.Close(fd)
		for p.Alive() { // asked after the open: the descriptor is this process's
			fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if _, err := unix.Poll(fds, -1); err == nil {
				return
			}
		}
		return
	}
	for p.Alive() { // before Linux 5.3
		time.Sleep(look)
	}
}

// look is how often a process is looked at where the kernel cannot tell of
// its end.
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
