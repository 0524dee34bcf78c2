// Package procid names a process by pid and start time, so that another
// process that was given the same pid later is never taken for it.
package procid

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// An ID is a process. Start is its start time in clock ticks since boot, 0
// where the system does not tell (no /proc).
type ID struct {
	PID   int
	Start uint64
}

// Of returns the ID of the process that has a pid now.
func Of(pid int) ID { return ID{PID: pid, Start: startTime(pid)} }

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

// String is the form Parse reads: "1234-5678".
func (id ID) String() string { return fmt.Sprintf("%d-%d", id.PID, id.Start) }

// Parse reads what String wrote.
func Parse(s string) (ID, bool) {
	pid, start, ok := strings.Cut(s, "-")
	p, err1 := strconv.Atoi(pid)
	n, err2 := strconv.ParseUint(start, 10, 64)
	return ID{PID: p, Start: n}, ok && err1 == nil && err2 == nil && p > 0
}

// startTime reads field 22 of /proc/PID/stat (proc_pid_stat(5)); 0 when there
// is no such process, when it is a zombie, or when there is no /proc.
func startTime(pid int) uint64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// The name in parentheses may hold anything, so count from its end.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return 0
	}
	n, _ := strconv.ParseUint(string(fields[19]), 10, 64)
	return n
}
