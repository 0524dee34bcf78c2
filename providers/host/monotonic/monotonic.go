// Package monotonic identifies the current boot of the machine and measures time
// since boot, so that setting the wall clock changes no duration.
package monotonic

import (
	"sync"
	"time"

	"github.com/muster-run/muster/internal/kernel"
)

// Uptime is the time since boot, suspended time included. Durations are
// differences of it: the wall clock may jump, this one does not.
func Uptime() time.Duration { return kernel.Uptime() }

// ID identifies one boot of the machine. A container that starts again keeps its host's: its
// jobs' processes are then seen to be gone.
var ID = sync.OnceValue(func() string {
	if id := kernel.Boot(); id != "" {
		return id
	}
	return "unknown"
})
