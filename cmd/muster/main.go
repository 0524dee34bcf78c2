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
	"strings"
	"syscall"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/term"
)

func main() { os.Exit(Main()) }

// headStart is how much a command may allocate before the garbage collector
// first runs: room that is never touched, and so takes no memory, but counts
// as live. Most commands end before, and their plans are made a quarter
// faster; a large state is not noticeably larger for it.
const headStart = 64 << 20

// Main is the whole program; tests call it as a command of their scripts.
func Main() int {
	if code, ok := helperProcess(os.Args[1:]); ok {
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
	code := a.exitCode(a.dispatch(ctx, args))
	if a.events != nil {
		a.events.Outcome(code, code != exitDone && code != exitChanges)
	}
	return code
}

// exitCode tells the person what went wrong, if it was not told already.
func (a *app) exitCode(err error) int {
	var status exitStatus
	var usage usageError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &usage):
		a.fail(diag.List{{Summary: diag.Sentence(usage.text)}})
		return exitError
	case errors.Is(err, syscall.EPIPE):
		return exitDone // the reader has seen enough: `muster status | head`
	default:
		return a.failErr(err)
	}
}

func (a *app) dispatch(ctx context.Context, args []string) error {
	args, err := a.leading(args)
	if err != nil {
		return err
	}
	if len(args) == 0 || args[0] == "-h" || args[0] == "-help" || args[0] == "--help" || args[0] == "help" && len(args) == 1 {
		return overview(a.stdout, max(a.out.Width, 40))
	}
	if args[0] == "help" {
		args = append(args[1:], "-h")
	}
	if args[0] == "-version" || args[0] == "--version" {
		args[0] = "version"
	}
	if args[0] == "__complete" || args[0] == "__complete_bare" { // its words are another command's, flags and all
		printLines(a.stdout, a.complete(args[1:], args[0] == "__complete_bare"))
		return nil
	}
	c, rest, ok := find(args)
	if ok {
		return c.run(ctx, a, rest)
	}
	if sub := children(args[0]); len(sub) > 0 {
		return parentHelp(a.stdout, args[0], sub, args[1:])
	}
	return unknownCommand(args[0])
}

// leading takes global flags that stand before the command.
func (a *app) leading(args []string) ([]string, error) {
	for len(args) > 0 {
		name, value, has := strings.Cut(strings.TrimLeft(args[0], "-"), "=")
		if !strings.HasPrefix(args[0], "-") {
			break
		}
		switch {
		case name == "chdir" && has:
			a.global.chdir = value
		case name == "chdir" && len(args) > 1:
			a.global.chdir, args = args[1], args[1:]
		case name == "no-color":
			a.global.noColor = value != "false"
		case name == "input":
			a.global.input = value != "false"
		default:
			return args, nil
		}
		args = args[1:]
	}
	return args, nil
}

func parentHelp(w io.Writer, word string, sub []*command, rest []string) error {
	if len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		var names []string
		for _, c := range sub {
			names = append(names, strings.TrimPrefix(c.name, word+" "))
		}
		hint := "It has: " + strings.Join(names, ", ") + "."
		if s := diag.Suggest(rest[0], names); s != "" {
			hint = fmt.Sprintf("Did you mean %q?", s)
		}
		return usagef("muster %s has no subcommand %q. %s", word, rest[0], hint)
	}
	fmt.Fprintf(w, "Usage: muster %s SUBCOMMAND [options]\n\n", word)
	t := term.Table{Indent: "  "}
	for _, c := range sub {
		t.Row(c.name, c.short)
	}
	_, err := io.WriteString(w, t.String())
	return err
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
			fmt.Fprintln(stderr, "\nLeft at once. Jobs go on; nothing is lost.")
			os.Exit(exitInterrupted)
		case <-done:
		}
	}()
	return ctx, func() { signal.Stop(ch); close(done); cancel(nil) }
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
