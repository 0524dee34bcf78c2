package queue

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/muster-run/muster/providers/host/cgroup"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/host/spool"
	"github.com/muster-run/muster/providers/host/wire"
)

// A Life is the settings with which a queue starts.
type Life struct {
	Spool    string
	Idle     time.Duration // it ends after this time with nothing to do
	Revision int           // its version, which it reports to a newer one
	Told     *os.File      // closed once the queue listens; nil: no one waits
	Umask    *int          // of jobs that name none, as older musters submit them
}

// Serve is the life of a queue. Started where one runs already, it ends
// at once and well.
func Serve(ctx context.Context, l Life) error {
	debug.SetGCPercent(400) // mostly short-lived; the heap is small
	if err := spool.Private(l.Spool); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	lock, err := spool.Lock(l.Spool)
	if errors.Is(err, spool.ErrBusy) {
		say(l.Told, "busy")
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := spool.Identify(l.Spool); err != nil {
		return err
	}
	reader, err := gpu.Open()
	if err != nil {
		log.Printf("GPUs: %v", err)
		reader = gpu.Unreadable{Err: err}
	}
	defer reader.Close()
	q, err := load(l.Spool, reader)
	if err != nil {
		return err
	}
	q.starts.umask = l.Umask
	if q.scheduler.cgroups, err = cgroup.Own(); err == nil {
		q.adoption.clearGroups()
	}
	ln, err := listen(l.Spool)
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
	srv := &wire.Server{}
	srv.Handlers = q.handlers(l.Revision, stop)
	go accept(ctx, ln, srv)
	go q.endWhenIdle(ctx, l.Idle, srv, stop)
	say(l.Told, "ready")
	q.run(ctx)
	if err := q.journal.Sync(); err != nil || !q.leaves {
		return err
	}
	return spool.Remove(l.Spool)
}

func say(told *os.File, word string) {
	if told != nil {
		fmt.Fprintln(told, word)
		told.Close()
	}
}

// listen makes the socket. It removes an existing one: the lock shows that it is stale.
func listen(dir string) (net.Listener, error) {
	path, err := spool.Socket(dir)
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

func accept(ctx context.Context, ln net.Listener, srv *wire.Server) {
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
		go srv.Serve(ctx, conn)
	}
}

const acceptPause = 50 * time.Millisecond

// endWhenIdle ends the queue when it has nothing to do: no job runs or could start by itself,
// and no client is connected.
func (q *queue) endWhenIdle(ctx context.Context, idle time.Duration, srv *wire.Server, stop func()) {
	look := time.NewTicker(max(min(idle/4, time.Second), 10*time.Millisecond))
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		over, _ := ask(ctx, q.core, func() bool {
			if srv.Conns() > 0 || !q.idle() {
				q.touched = monotonic.Uptime()
			}
			over := monotonic.Uptime()-q.touched >= idle || q.leaves && srv.Conns() == 0 && !q.attempts.sweeper.pending()
			q.yielded = q.yielded || over
			return over
		})
		if over {
			stop()
			return
		}
	}
}
