package host

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A process is known by its pid and when it started: a pid alone is reused.
type process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start,omitempty"` // clock ticks since boot; proc_pid_stat(5), field 22
}

// startTime reads when a process started. It fails for one that is gone or
// only a zombie.
func startTime(pid int) (uint64, error) {
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

// alive reports whether the process is there and the same.
func (p process) alive() bool {
	if p.PID <= 1 {
		return false
	}
	start, err := startTime(p.PID)
	return err == nil && (p.Start == 0 || p.Start == start)
}

// environOf is one process's environment as it was at its exec.
func environOf(pid int) []byte {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return b
}

// variable is the value of a variable in an environment of NUL-ended strings.
func variable(environ []byte, name string) (string, bool) {
	key := []byte(name + "=")
	for len(environ) > 0 {
		line, rest, _ := bytes.Cut(environ, []byte{0})
		if v, ok := bytes.CutPrefix(line, key); ok {
			return string(v), true
		}
		environ = rest
	}
	return "", false
}

// groupGone reports whether no process is left in a process group.
func groupGone(pgid int) bool {
	return errors.Is(unix.Kill(-pgid, 0), unix.ESRCH)
}

// await returns when a process that need not be a child is gone.
func (p process) await() {
	if fd, err := unix.PidfdOpen(p.PID, 0); err == nil {
		defer unix.Close(fd)
		for p.alive() { // asked after the open: the descriptor is this process's
			fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if _, err := unix.Poll(fds, -1); err == nil {
				return
			}
		}
		return
	}
	for p.alive() { // before Linux 5.3
		time.Sleep(adoptedPoll)
	}
}

// adoptedPoll is how often an adopted process is looked at where the kernel
// cannot tell of its end.
const adoptedPoll = 500 * time.Millisecond

// devNull is the standard input of every job.
var devNull = sync.OnceValues(func() (*os.File, error) { return os.Open(os.DevNull) })
