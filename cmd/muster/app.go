package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/live"
	"github.com/muster-run/muster/cmd/muster/trust"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/launch"
	"github.com/muster-run/muster/state/store"
)

// version is set by the linker.
var version = "0.1.0-dev"

// An app is one run of the program: its streams, where it works and how it
// may speak.
type app struct {
	stdin          io.Reader
	answers        *bufio.Reader // stdin, once something was asked
	stdout, stderr io.Writer
	out, err       term.Style // of stdout and stderr
	global         global
	dir            string // absolute directory of the campaign
	sources        diag.Sources
	warned         bool         // something was found when the campaign was loaded
	events         *live.Events // of -json; nil when people read
	pin            launch.Pin   // how strict .muster.lock.hcl is; init records
	guard          *trust.Guard // what the campaign may do before anything is approved
	now            func() time.Time
	person         *human   // at the terminal; nil until providers may ask
	waits          sync.Map // what was said to be waited for
	ctx            context.Context
	unread         bool // the campaign was not read to its end: somebody interrupted
}

func newApp(stdin, stdout, stderr *os.File) *app {
	return &app{
		stdin: stdin, stdout: stdout, stderr: stderr,
		out: term.Detect(stdout, false), err: term.Detect(stderr, false),
		global: global{input: os.Getenv("CI") != "true" && os.Getenv("MUSTER_INPUT") != "false"},
		now:    timeOfDay,
	}
}

// timeOfDay is the time of day. MUSTER_NOW (RFC 3339) fixes it, so that a plan in
// the documentation or a test can be reproduced to the byte.
func timeOfDay() time.Time {
	if t, err := time.Parse(time.RFC3339, os.Getenv("MUSTER_NOW")); err == nil {
		return t
	}
	return time.Now().UTC().Truncate(time.Second)
}

// settle acts on the global flags once they are all parsed.
func (a *app) settle() error {
	if a.global.noColor {
		a.out.Color, a.err.Color = false, false
	}
	dir, err := filepath.Abs(a.global.chdir)
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return command.Usagef("there is no directory %s to work in", dir)
	}
	a.dir, a.guard = dir, trust.New(dir, os.Getenv)
	return nil
}

// path is a file named on the command line: relative to where the person
// stands, not to -chdir.
func (a *app) path(name string) string {
	abs, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	return abs
}

func (a *app) printf(format string, args ...any) {
	fmt.Fprint(a.stdout, a.out.Text(fmt.Sprintf(format, args...)))
}

// notef writes to stderr: progress and remarks, never data.
func (a *app) notef(format string, args ...any) {
	_, _ = live.Paint(a.stderr, []byte(a.err.Text(fmt.Sprintf(format, args...))))
}

// fail prints diagnostics.
func (a *app) fail(l diag.List) {
	if a.events != nil {
		a.events.Diagnostics(l, a.sources)
	}
	diag.Printer{Sources: a.sources, Width: a.err.Width, Clean: func(s string) string { return a.err.Text(term.Clean(s)) }, Paint: a.severity}.Print(a.stderr, l)
}

func (a *app) severity(s diag.Severity, text string) string {
	if s == diag.Warning {
		return a.err.Paint(term.Yellow, text)
	}
	return a.err.Paint(term.Red, text)
}

// report prints what was found and tells whether to go on.
func (a *app) report(l diag.List) error {
	if a.unread {
		return errInterrupted
	}
	if len(l) > 0 {
		a.fail(l)
	}
	if l.HasErrors() {
		return command.Failed
	}
	return nil
}

// failErr turns plumbing's errors into what a person can act on.
func (a *app) failErr(err error) command.Exit {
	var locked *store.LockedError
	var corrupt *store.CorruptError
	var write *store.WriteError
	var read *store.ReadError
	var provider *providers.Error
	switch {
	case errors.As(err, &locked):
		a.fail(diag.List{{Summary: "The state is locked", Detail: locked.Detail()}})
		return command.Locked
	case errors.Is(err, store.ErrLost):
		a.fail(diag.List{{Summary: "The state lock was taken over", Detail: "Another muster holds it now, and drives the campaign on. This one wrote and started nothing since. See it with muster status."}})
		return command.Locked
	case errors.As(err, &corrupt):
		a.fail(diag.List{{Summary: "The state is damaged", Detail: corrupt.Error() + ".\n\n" + corrupt.Way}})
	case errors.As(err, &write):
		a.fail(diag.List{{Summary: "The state cannot be written", Detail: write.Error() + ".\n\n" + write.Way}})
	case errors.As(err, &read):
		a.fail(diag.List{{Summary: "The state cannot be read", Detail: read.Error() + ".\n\n" + read.Way}})
	case errors.As(err, &provider):
		a.fail(diag.List{{Summary: diag.Sentence(provider.Summary), Detail: strings.TrimSpace(provider.Detail + "\n\n" + provider.Hint)}})
		if provider.Class == providers.StaleFence { // as if the lease had been lost here
			return command.Locked
		}
	case errors.Is(err, errInterrupted):
		return command.Interrupted
	default:
		a.fail(diag.List{diag.FromError(err)})
	}
	return command.Failed
}

// whoami is recorded with approvals and holds.
func whoami() (who, host string) {
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	if s := os.Getenv("MUSTER_WHO"); s != "" {
		who = s
	}
	host, _ = os.Hostname()
	return who, host
}
