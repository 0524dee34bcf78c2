// Package kernel asks the kernel about processes, the current boot and memory:
// Linux through /proc, macOS through sysctl(3). Lacks names the facts that it
// cannot get.
package kernel

import "errors"

// A Process is the kernel's record of one process.
type Process struct {
	// Start tells it from others that had its pid: on Linux clock ticks since
	// boot, on macOS microseconds of the wall clock.
	Start   uint64
	State   byte // the letter of ps(1): R, S, D, T, Z, …
	Session int  // 0 where its leader is outside of this pid namespace
}

// Ended reports whether only its exit status is left.
func (p Process) Ended() bool { return p.State == 'Z' || p.State == 'X' }

// errHidden says that a process is there, and that the kernel tells no more of it.
var errHidden = errors.New("the kernel does not show this process")
