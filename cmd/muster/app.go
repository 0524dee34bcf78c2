package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/trust"
	"github.com/muster-run/muster/internal/term"
)

// version is set by the linker.
var version = "0.1.0-dev"

// An app is one run of the program: its commands are methods of it, or functions
// that return a row of the command table.
type app struct{ *workspace }

func newApp(stdin, stdout, stderr *os.File) *app {
	t := &terminal{
		stdin: stdin, stdout: stdout, stderr: stderr,
		out: term.Detect(stdout, false), err: term.Detect(stderr, false),
		global: global{input: os.Getenv("CI") != "true" && os.Getenv("MUSTER_INPUT") != "false"},
		now:    timeOfDay,
	}
	return &app{&workspace{terminal: t, allowances: &allowances{terminal: t}}}
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
	switch info, err := os.Stat(dir); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return command.Usagef("muster cannot work in %s: %v", dir, errors.Unwrap(err))
	case err != nil || !info.IsDir():
		return command.Usagef("there is no directory %s to work in", dir)
	}
	a.dir, a.guard = dir, trust.New(dir, os.Getenv)
	return nil
}

// absolute is a file named on the command line: relative to the
// directory of the shell, not to -chdir.
func absolute(name string) string {
	abs, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	return abs
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
