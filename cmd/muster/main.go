// Command muster is plan and apply for compute campaigns.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"syscall"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/plugins"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/ulimit"
)

func main() { os.Exit(Main()) }

// headStart is how much a command may allocate before the garbage collector
// first runs: room that is never touched, and so takes no memory, but counts
// as live. Most commands end before, and their plans are made a quarter
// faster; a large state is not noticeably larger for it.
const headStart = 64 << 20

// Main is the whole program; tests call it as a command of their scripts.
func Main() int {
	if err := ulimit.Check(); err != nil {
		fmt.Fprintln(os.Stderr, "muster:", err)
		return int(command.Failed)
	}
	if code, ok := plugins.Main(os.Args[1:]); ok {
		return code
	}
	stop := profile()
	defer stop()
	headStart := make([]byte, headStart)
	defer runtime.KeepAlive(headStart)
	a := newApp(os.Stdin, os.Stdout, os.Stderr)
	return a.main(os.Args[1:])
}

// main runs one command line and returns the exit code.
func (a *app) main(args []string) int {
	ctx, cancel := signals(a.stderr)
	defer cancel()
	a.ctx = ctx
	err := a.dispatch(ctx, args)
	if a.unread {
		err = errInterrupted
	}
	code := a.exitCode(err)
	a.tellLeft()
	if a.events != nil {
		a.events.Outcome(int(code), code != command.Done && code != command.Changes)
	}
	return int(code)
}

// exitCode tells the person what went wrong, if it was not told already.
func (a *app) exitCode(err error) command.Exit {
	var status command.Exit
	var usage command.UsageError
	switch {
	case err == nil:
		return command.Done
	case errors.As(err, &status):
		return status
	case errors.As(err, &usage):
		a.fail(diag.List{{Summary: diag.Sentence(usage.Text)}})
		return command.Failed
	case errors.Is(err, syscall.EPIPE):
		return command.Done // the reader has seen enough: `muster status | head`
	default:
		return a.failErr(err)
	}
}

func (a *app) dispatch(ctx context.Context, args []string) error {
	args = a.global.leading(args)
	if len(args) > 0 && (args[0] == "__complete" || args[0] == "__complete_bare") { // its words are another command's, flags and all
		words := a.global.leading(args[1:])
		printLines(a.stdout, a.table().Complete(words, args[0] == "__complete_bare"))
		return nil
	}
	return a.table().Run(ctx, args)
}

// signals cancels the context at the first interrupt; the second one leaves
// at once. Nothing is lost by either: the journal is ahead.
func signals(stderr io.Writer) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		select {
		case <-ch:
			cancel(errInterrupted)
		case <-done:
			return
		}
		select {
		case <-ch:
			fmt.Fprintln(stderr, "\nStopped at once. Jobs keep running; nothing is lost.")
			os.Exit(int(command.Interrupted))
		case <-done:
		}
	}()
	return ctx, func() { signal.Stop(ch); close(done); cancel(nil) }
}

// unlessInterrupted is the result of work that changes nothing. An interrupt does not
// wait for the work: it ends with the process.
func unlessInterrupted[T any](ctx context.Context, work func() T) (v T, ok bool) {
	if ctx == nil {
		return work(), true
	}
	done := make(chan T, 1)
	go func() { done <- work() }()
	select {
	case v = <-done:
		return v, true
	case <-ctx.Done():
		return v, false
	}
}

var errInterrupted = errors.New("interrupted")

// profile writes a CPU profile to the file MUSTER_CPU_PROFILE names.
func profile() func() {
	path := os.Getenv("MUSTER_CPU_PROFILE")
	if path == "" {
		return func() {}
	}
	f, err := os.Create(path)
	if err != nil {
		fmt.Fprintf(os.Stderr, "MUSTER_CPU_PROFILE: %v\n", err)
		return func() {}
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		fmt.Fprintf(os.Stderr, "MUSTER_CPU_PROFILE: %v\n", err)
	}
	return func() { pprof.StopCPUProfile(); f.Close() }
}
