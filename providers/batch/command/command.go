// Package command runs a batch scheduler's commands on the login node: one at a time,
// outliving a muster that is killed, in an environment without variables that would change
// their output.
package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/kernel"
	"github.com/muster-run/muster/internal/subprocess"
)

// A Runner runs a command where the scheduler's are. An error says that it did not
// come to its end; a status other than 0 is none.
type Runner interface {
	Run(ctx context.Context, argv []string, stdin []byte) (Result, error)
}

// A Result is the output and the exit status of a command that ran to its end.
type Result struct {
	Out, Err []byte // stdout and stderr
	Code     int    // exit status
}

// Environ is an environment for a scheduler's commands, and so for jobs that get
// all of it: one as "NAME=value", nil = this process's, without muster's own
// variables, those of this session, and those that drop names.
func Environ(own func() []string, drop func(name string) bool) (out []string) {
	all := os.Environ()
	if own != nil {
		all = own()
	}
	for _, line := range all {
		name, _, _ := strings.Cut(line, "=")
		if !drop(name) && !strings.HasPrefix(name, "MUSTER_") && name != "TMPDIR" && !strings.HasPrefix(name, "XDG_") && name != "SSH_AUTH_SOCK" {
			out = append(out, line)
		}
	}
	return out
}

// Here runs a command on this machine: the site's own program where own has one by the
// command's name, else the one on the PATH of the environment.
func Here(ctx context.Context, own map[string]string, argv, env []string, stdin []byte) (Result, error) {
	program := own[argv[0]]
	if program == "" {
		var err error
		if program, err = lookPath(argv[0], env); err != nil {
			return Result{}, err
		}
	}
	cmd := exec.CommandContext(ctx, program, argv[1:]...)
	cmd.Args[0] = argv[0]
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a submission outlives a muster that is killed
	cmd.Stdin = bytes.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := subprocess.Leave(cmd)
	r := Result{out.Bytes(), errs.Bytes(), 0}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return r, fmt.Errorf("%s: %w", argv[0], ctx.Err())
	case errors.As(err, &exit) && exit.Exited():
		r.Code = exit.ExitCode()
		return r, nil
	case err != nil:
		return r, fmt.Errorf("%s: %w", argv[0], err)
	}
	return r, nil
}

// CheckOwn refuses a site's own programs that cannot be: each is by the name of one of
// the scheduler's commands, and a path that is absolute on the login node.
func CheckOwn(own map[string]string, names []string) error {
	for _, name := range slices.Sorted(maps.Keys(own)) {
		switch path := own[name]; {
		case !slices.Contains(names, name):
			return fmt.Errorf("commands names %q, which muster never runs there: it runs %s", name, strings.Join(names, ", "))
		case !filepath.IsAbs(path):
			return fmt.Errorf("commands has %q for %s: write the program's absolute path on the login node", path, name)
		}
	}
	return nil
}

// lookPath finds a command on the PATH of an environment: on many a cluster
// only the login shell's own files know where the scheduler is.
func lookPath(name string, env []string) (string, error) {
	path := ""
	for _, line := range env {
		if value, ok := strings.CutPrefix(line, "PATH="); ok {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if file := filepath.Join(dir, name); filepath.IsAbs(dir) && unix.Access(file, unix.X_OK) == nil && !isDir(file) {
			return file, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// Running reports whether a process of this machine has all of some arguments:
// many a site's command is a script of its own that starts the scheduler's by its
// path, so that only the arguments tell it.
func Running(arguments ...string) bool {
	for _, pid := range kernel.Processes() {
		args := kernel.Arguments(pid)
		if !slices.ContainsFunc(arguments, func(a string) bool { return !slices.Contains(args, a) }) {
			return true
		}
	}
	return false
}
