package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/kernel"
)

// A Runner runs a command where Slurm's are. An error says that it did not come
// to its end; a status other than 0 is none.
type Runner interface {
	Run(ctx context.Context, argv []string, stdin []byte) (Result, error)
}

// A Result is what a command that ran to its end said.
type Result struct {
	Out, Err []byte // stdout and stderr
	Code     int    // exit status
}

// Here runs commands on this machine, which then is a login node.
type Here struct {
	// Environ is the environment of commands as "NAME=value", without variables
	// that change their output; nil = this process's.
	Environ func() []string
}

// siteDefaults are variables by which sites and people change what Slurm's
// commands print and ask for. squeue(1), sacct(1), sbatch(1), ENVIRONMENT.
func siteDefault(name string) bool {
	for _, prefix := range []string{"SLURM_", "SQUEUE_", "SACCT_", "SINFO_", "SBATCH_", "SCONTROL_", "SALLOC_", "SRUN_"} {
		if strings.HasPrefix(name, prefix) {
			return name != "SLURM_CONF"
		}
	}
	return strings.HasPrefix(name, "MUSTER_")
}

// environ is what Slurm's commands get, and with it every job.
func environ(own []string) []string {
	out := []string{"SLURM_TIME_FORMAT=%s", "SLURM_BITSTR_LEN=0"}
	for _, line := range own {
		name, _, _ := strings.Cut(line, "=")
		if !siteDefault(name) && name != "TMPDIR" && !strings.HasPrefix(name, "XDG_") && name != "SSH_AUTH_SOCK" {
			out = append(out, line)
		}
	}
	return out
}

// reap is how long a stopped command may take to end.
const reap = 2 * time.Second

func (h Here) Run(ctx context.Context, argv []string, stdin []byte) (Result, error) {
	own := os.Environ()
	if h.Environ != nil {
		own = h.Environ()
	}
	env := environ(own)
	program, err := lookPath(argv[0], env)
	if err != nil {
		return Result{}, err
	}
	cmd := exec.CommandContext(ctx, program, argv[1:]...)
	cmd.Args[0] = argv[0]
	cmd.Env = env
	if argv[0] == "sbatch" && !slices.Contains(argv, "--test-only") { // these two would reach the job
		cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool {
			return strings.HasPrefix(v, "SLURM_TIME_") || strings.HasPrefix(v, "SLURM_BITSTR_")
		})
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // an sbatch outlives a muster that is killed
	cmd.WaitDelay = reap
	cmd.Stdin = bytes.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
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

// lookPath finds a command on the PATH of an environment: on many a cluster
// only the login shell's own files know where Slurm is.
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

// Parsable makes sbatch print an id and nothing else. All that muster submits
// has it, and next to nothing that a person does.
const Parsable = "--parsable"

// submitting reports whether an sbatch of a script still runs on this machine:
// by what it was told, as many a site's sbatch is a script of its own that
// starts Slurm's by its path.
func submitting(script string) bool {
	for _, pid := range kernel.Processes() {
		args := kernel.Arguments(pid)
		if slices.Contains(args, Parsable) && slices.Contains(args, script) {
			return true
		}
	}
	return false
}
