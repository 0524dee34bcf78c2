package site

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Umask is that of this process, which its jobs run under wherever they run.
var Umask = sync.OnceValue(func() int {
	status, _ := os.ReadFile("/proc/self/status") // proc_pid_status(5); asking the kernel means setting it
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "Umask:"); ok {
			if n, err := strconv.ParseUint(strings.TrimSpace(text), 8, 12); err == nil {
				return int(n)
			}
		}
	}
	n := unix.Umask(0o077)
	unix.Umask(n)
	return n
})
