// Package boot tells this boot of the machine from others and how long it has
// lasted, and by that when things happened, whatever was done to the wall clock.
package boot

import (
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Uptime is the time since boot, suspended time included. Durations are
// differences of it: the wall clock may jump, this one does not.
func Uptime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// ID tells one boot of the machine from another. random(4). A container
// started again has its host's: then the jobs' processes are gone and say so.
var ID = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
})
