package host

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/muster-run/muster/providers/host/queue"
	"github.com/muster-run/muster/providers/host/spool"
	"github.com/muster-run/muster/providers/host/wire"
	"golang.org/x/sys/unix"
)

// defaultIdle is how long a queue with nothing left to do waits for more.
const defaultIdle = 30 * time.Second

// envIdle shortens or lengthens that time (a Go duration).
const envIdle = "MUSTER_QUEUE_IDLE"

// Main runs `muster provider queue`, the queue of a spool. It returns the exit
// status.
func Main(ctx context.Context, args []string) int {
	fs := flag.NewFlagSet("queue", flag.ContinueOnError)
	dir := fs.String("spool", "", "directory of the queue; default: this user's on this machine")
	idle := fs.Duration("idle", idleTime(), "end after this time with nothing to do")
	revision := fs.Int("revision", wire.Revision, "version that the queue reports to a newer muster")
	ready := fs.Bool("ready", false, "say on descriptor 3 when the queue listens")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if *dir == "" {
		found, err := spool.Dir()
		if err != nil {
			fmt.Fprintln(os.Stderr, "muster:", err)
			return 1
		}
		*dir = found
	}
	var told *os.File
	if *ready {
		unix.CloseOnExec(3)
		told = os.NewFile(3, "ready")
	}
	inherited := unix.Umask(0o077) // the queue's own files are for its user alone
	err := queue.Serve(ctx, queue.Life{Spool: *dir, Idle: *idle, Revision: *revision, Told: told, Umask: &inherited})
	if err != nil {
		log.Printf("muster: queue: %v", err)
		if told != nil {
			fmt.Fprintf(told, "%v\n", err)
		}
		return 1
	}
	return 0
}

func idleTime() time.Duration {
	if d, err := time.ParseDuration(os.Getenv(envIdle)); err == nil && d > 0 {
		return d
	}
	return defaultIdle
}
