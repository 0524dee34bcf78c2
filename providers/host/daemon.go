package host

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers/host/gpu"
)

// defaultIdle is how long a queue with nothing left to do waits for more.
const defaultIdle = 30 * time.Second

// EnvIdle shortens or lengthens that time (a Go duration).
const EnvIdle = "MUSTER_QUEUE_IDLE"

// Main is what the muster binary runs as `muster provider queue`: the queue
// of a spool, or with -stdio a relay to it on standard input and output. It
// returns the exit status.
func Main(ctx context.Context, args []string) int {
	fs := flag.NewFlagSet("queue", flag.ContinueOnError)
	spool := fs.String("spool", "", "directory of the queue; default: this user's on this machine")
	stdio := fs.Bool("stdio", false, "relay standard input and output to the queue, starting it if needed")
	idle := fs.Duration("idle", idleTime(), "end after this time with nothing to do")
	revision := fs.Int("revision", Revision, "what the queue takes itself for when a newer one asks")
	ready := fs.Bool("ready", false, "say on descriptor 3 when the queue listens")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if *spool == "" {
		dir, err := Spool()
		if err != nil {
			fmt.Fprintln(os.Stderr, "muster:", err)
			return 1
		}
		*spool = dir
	}
	if *stdio {
		if err := relay(ctx, *spool, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "muster:", err)
			return 1
		}
		return 0
	}
	var told *os.File
	if *ready {
		unix.CloseOnExec(3)
		told = os.NewFile(3, "ready")
	}
	err := serveSpool(ctx, life{spool: *spool, idle: *idle, revision: *revision, told: told})
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
	if d, err := time.ParseDuration(os.Getenv(EnvIdle)); err == nil && d > 0 {
		return d
	}
	return defaultIdle
}

// errBusy says that another queue holds the spool.
var errBusy = errors.New("another queue runs here")

// lockSpool takes the spool for this process. The kernel lets go of the lock
// when the process ends, however it ends. A job never inherits it.
func lockSpool(spool string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(spool, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock spool: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errBusy
		}
		return nil, fmt.Errorf("lock spool: %w", err)
	}
	start, _ := startTime(os.Getpid())
	f.Truncate(0)
	f.WriteAt([]byte(strconv.Itoa(os.Getpid())+" "+strconv.FormatUint(start, 10)+" "+bootID()+"\n"), 0)
	return f, nil
}

// life is what a queue is started with.
type life struct {
	spool    string
	idle     time.Duration
	revision int
	told     *os.File // hears when it listens; nil: nobody
}

// serveSpool is the life of a queue. Started where one runs already, it ends
// at once and well.
func serveSpool(ctx context.Context, l life) error {
	debug.SetGCPercent(400) // mostly short-lived; the heap is small
	if err := privateDir(l.spool); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	lock, err := lockSpool(l.spool)
	if errors.Is(err, errBusy) {
		say(l.told, "busy")
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	reader, err := gpu.Open()
	if err != nil {
		log.Printf("GPUs: %v", err)
		reader = unreadable{err}
	}
	defer reader.Close()
	q, err := load(l.spool, reader)
	if err != nil {
		return err
	}
	ln, err := listen(l.spool)
	if err != nil {
		return err
	}
	defer ln.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ctx, unnotify := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer unnotify()
	// Caught rather than ignored: jobs would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	srv := &server{}
	srv.handlers = q.handlers(l.revision, stop)
	go accept(ctx, ln, srv)
	go q.endWhenIdle(ctx, l.idle, srv, stop)
	say(l.told, "ready")
	q.run(ctx)
	return q.journal.sync()
}

func say(told *os.File, word string) {
	if told != nil {
		fmt.Fprintln(told, word)
		told.Close()
	}
}

// unreadable are GPUs of which nothing can be known.
type unreadable struct{ err error }

func (u unreadable) Devices(context.Context) ([]gpu.Device, error) { return nil, u.err }
func (u unreadable) Close() error                                  { return nil }

// listen makes the socket; the lock is held, so that one that is there is stale.
func listen(spool string) (net.Listener, error) {
	path, err := socketPath(spool)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("stale socket: %w", err)
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return ln, nil
}

func accept(ctx context.Context, ln net.Listener, srv *server) {
	context.AfterFunc(ctx, func() { ln.Close() })
	for {
		conn, err := ln.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			time.Sleep(acceptPause)
			continue
		}
		go srv.serve(ctx, conn)
	}
}

const acceptPause = 50 * time.Millisecond

// endWhenIdle ends the queue when nothing is left: no job that runs or could
// start by itself, and nobody connected.
func (q *queue) endWhenIdle(ctx context.Context, idle time.Duration, srv *server, stop func()) {
	look := time.NewTicker(max(min(idle/4, time.Second), 10*time.Millisecond))
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		over := false
		q.do(ctx, func() {
			if srv.conns.Load() > 0 || !q.idle() {
				q.touched = uptime()
			}
			over = uptime()-q.touched >= idle
			q.yielded = q.yielded || over
		})
		if over {
			stop()
			return
		}
	}
}
