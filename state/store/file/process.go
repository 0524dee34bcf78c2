package file

import (
	"errors"
	"syscall"

	"github.com/muster-run/muster/internal/kernel"
)

// startOf is when a process started, 0 where the kernel hides it, and whether it
// runs at all. One that has ended and was not waited for does not.
func startOf(pid int) (start uint64, running bool) {
	if pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return 0, false
	}
	p, err := kernel.Look(pid)
	if err != nil {
		return 0, true
	}
	if p.Ended() {
		return 0, false
	}
	return p.Start, true
}
