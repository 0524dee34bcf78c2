package attempt

import (
	"context"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/kernel"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/wrapper"
)

// Processes are those of one start of a job: the session that its wrapper leads, and
// processes outside it that hold the job's token.
type Processes struct {
	Job     *providers.Job
	Attempt int
	Leader  int // the wrapper's pid
	Folder  wrapper.Folder
}

// Quiet reports whether nothing of the session is left.
func (g Processes) Quiet() bool { return g.Leader <= 1 || process.GroupGone(g.Leader) }

// Gone waits up to d until no process is left.
func (g Processes) Gone(ctx context.Context, d time.Duration) bool {
	const look = 10 * time.Millisecond
	for end := monotonic.Uptime() + d; ; {
		if process.GroupGone(g.Leader) || len(g.Members()) == 0 {
			return true
		}
		if monotonic.Uptime() >= end || ctx.Err() != nil {
			return false
		}
		time.Sleep(look)
	}
}

// Members are the processes that are left.
func (g Processes) Members() []int {
	// A session id is not reused while the session has members; a process
	// with that very pid which does not hold the token is a stranger's.
	sid := g.Leader
	if start, err := process.StartTime(sid); err == nil && start != 0 && !process.Holds(sid, g.Job.Token, g.Attempt) {
		sid = -1
	}
	var list []int
	for _, pid := range process.All() {
		if s, alive := process.Session(pid); alive && (s != 0 && s == sid || process.Holds(pid, g.Job.Token, g.Attempt)) {
			list = append(list, pid)
		}
	}
	return list
}

// Signal signals every process that is left.
func (g Processes) Signal(sig syscall.Signal) {
	for _, pid := range g.Members() {
		unix.Kill(pid, sig)
	}
}

// SignalProgram signals the programs of a job, but not the shells that muster put around them,
// which the signal would end: the wrapper, and a /bin/sh of the command unless the command
// sets a trap.
func (g Processes) SignalProgram(sig syscall.Signal) {
	if sig == 0 {
		return
	}
	trapped := strings.Contains(g.Job.Shell, "trap")
	script := string(g.Folder) + "/cmd"
	for _, pid := range g.Members() {
		ours := slices.ContainsFunc(kernel.Arguments(pid), func(arg string) bool { return strings.Contains(arg, script) })
		if pid == g.Leader || !trapped && ours {
			continue
		}
		unix.Kill(pid, sig)
	}
}
