package kernel

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
)

// An ID names a process by pid and start time, so that a later process with the
// same pid is never mistaken for it.
type ID struct {
	PID   int
	Start uint64 // as Process has it; 0 where the kernel hides it
}

// Identify returns the ID of the process that has a pid now.
func Identify(pid int) ID { return ID{PID: pid, Start: startTime(pid)} }

// Alive reports whether the process still exists; a zombie does not.
func (id ID) Alive() bool {
	if id.PID <= 0 {
		return false
	}
	if err := syscall.Kill(id.PID, 0); err != nil && err != syscall.EPERM {
		return false
	}
	return id.Start == 0 || startTime(id.PID) == id.Start
}

// String is the form ParseID reads: "1234-5678".
func (id ID) String() string { return fmt.Sprintf("%d-%d", id.PID, id.Start) }

// ParseID reads the output of String.
func ParseID(s string) (ID, bool) {
	pid, start, ok := strings.Cut(s, "-")
	p, err1 := strconv.Atoi(pid)
	n, err2 := strconv.ParseUint(start, 10, 64)
	return ID{PID: p, Start: n}, ok && err1 == nil && err2 == nil && p > 0
}

// startTime is 0 when there is no such process, when it is a zombie, or when
// the kernel does not show it.
func startTime(pid int) uint64 {
	p, err := Look(pid)
	if err != nil || p.Ended() {
		return 0
	}
	return p.Start
}
