// Package verifier verifies outputs in a separate process, which is this
// program started again. The process can be ended at any time, whatever the
// outputs contain, and ends when its parent is gone.
package verifier

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/kernel"
	"github.com/muster-run/muster/internal/ulimit"
	"github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// Mode are the arguments with which a program serves Main.
var Mode = []string{"provider", "verify"}

// Limits are those of the verifying process.
type Limits struct {
	CPUs  int  // 0 = one
	Umask *int // for the output of a verify command; nil = as it is
}

// ready says that this program serves Mode.
var ready atomic.Bool

// Enable says that the program serves Mode. In a program that does not, such as a test, Run
// verifies in a goroutine, which it abandons at the bound.
func Enable() { ready.Store(true) }

// order is the request to the process.
type order struct {
	Task  verify.Task
	Umask int // -1 = as it is
}

// found is a part of the answer: an output, or at the end all.
type found struct {
	Output *offer.Output
	All    *verify.Result
}

// slack is how long the process may take, past the bounds of its outputs, to answer.
const slack = 5 * time.Second

// Run verifies a task's outputs within its bounds; outputs that are not verified by then, or
// when ctx ends, are reported as unverified. Light tasks run in this process.
func Run(ctx context.Context, t verify.Task, s Limits) verify.Result {
	if t.Light() {
		if r, ok := t.RunLight(ctx); ok {
			return r
		}
	}
	why := errors.New("it was not verified in time (verify_timeout)")
	ctx, stop := context.WithTimeoutCause(ctx, t.Limit()+slack, why)
	defer stop()
	if !ready.Load() {
		return beside(ctx, t)
	}
	return inProcess(ctx, t, s)
}

// beside verifies in a goroutine.
func beside(ctx context.Context, t verify.Task) verify.Result {
	done := make(chan verify.Result, 1)
	go func() { done <- t.Run(ctx) }()
	select {
	case r := <-done:
		return r
	case <-ctx.Done():
		return t.Ended(nil, context.Cause(ctx))
	}
}

// inProcess verifies in a process that leads a session of its own.
func inProcess(ctx context.Context, t verify.Task, s Limits) verify.Result {
	cmd := exec.Command(self(), Mode...)
	cmd.Args[0] = os.Args[0] // its name in ps
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(max(s.CPUs, 1)))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	said, saidErr := cmd.StderrPipe()
	if err := errors.Join(inErr, outErr, saidErr); err != nil {
		return t.Ended(nil, fmt.Errorf("verification: %w", err))
	}
	if err := cmd.Start(); err != nil {
		return t.Ended(nil, fmt.Errorf("start verification: %w", err))
	}
	answer := make(chan reply, 1)
	go func() {
		defer in.Close() // held open: its end is how the process hears that we are gone
		o := order{Task: t, Umask: -1}
		if s.Umask != nil {
			o.Umask = *s.Umask
		}
		err := gob.NewEncoder(in).Encode(&o)
		r, err := collect(out, err)
		if err != nil {
			err = fmt.Errorf("%w%s", err, ulimit.LastWord(said))
		}
		answer <- reply{r, err}
	}()
	select {
	case a := <-answer:
		end(cmd)
		return a.result(t, a.died)
	case <-ctx.Done():
	}
	end(cmd)
	select {
	case a := <-answer: // its output so far
		return a.result(t, context.Cause(ctx))
	case <-time.After(slack): // a disk that hangs holds it
		return t.Ended(nil, context.Cause(ctx))
	}
}

// reply is the answer of the process, or as much of it as it gave before it ended.
type reply struct {
	found verify.Result
	died  error
}

func (a reply) result(t verify.Task, why error) verify.Result {
	if a.died == nil {
		return a.found
	}
	return t.Ended(a.found.Outputs, why)
}

// errDied is the error of a process that ended without an answer.
var errDied = errors.New("the process that verified it ended")

// collect reads the answer to its end.
func collect(out io.Reader, err error) (verify.Result, error) {
	var done []offer.Output
	d := gob.NewDecoder(out)
	for err == nil {
		var f found
		if err = d.Decode(&f); err != nil {
			break
		}
		if f.All != nil {
			return *f.All, nil
		}
		if f.Output != nil {
			done = append(done, *f.Output)
		}
	}
	return verify.Result{Outputs: done}, errDied
}

// end kills the rest of the session and reaps its leader.
func end(cmd *exec.Cmd) {
	const look, patience = 20 * time.Millisecond, 2 * time.Second
	sid := cmd.Process.Pid
	for began := time.Now(); time.Since(began) < patience; time.Sleep(look) {
		left := false
		for _, pid := range process.All() {
			if s, alive := process.Session(pid); alive && s == sid {
				left = true
				unix.Kill(pid, unix.SIGKILL)
			}
		}
		if !left {
			break
		}
	}
	go cmd.Wait() // one that hangs in the kernel ends when it can
}

func self() string {
	if kernel.Self != "" {
		return kernel.Self
	}
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// niceness is that of a verifying process: setpriority(2).
const niceness = 5

// Main is the program in Mode: it reads an order on its standard input, answers on its
// standard output, and ends at once when its input does.
func Main() int {
	var o order
	in := gob.NewDecoder(os.Stdin)
	if err := in.Decode(&o); err != nil {
		fmt.Fprintln(os.Stderr, "muster: verify:", err)
		return 1
	}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		endSession()
		os.Exit(1)
	}()
	// A scheduler sends TERM to every process of a job; the process that started this one
	// decides.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	unix.Setpriority(unix.PRIO_PGRP, 0, niceness) // jobs go first
	if o.Umask >= 0 {
		syscall.Umask(o.Umask)
	}
	out := gob.NewEncoder(os.Stdout)
	r := o.Task.RunTelling(context.Background(), func(f offer.Output) { out.Encode(found{Output: &f}) })
	if out.Encode(found{All: &r}) != nil {
		return 1
	}
	return 0
}

// endSession kills the processes of a verify command.
func endSession() {
	for _, pid := range process.All() {
		if s, alive := process.Session(pid); alive && s == os.Getpid() {
			unix.Kill(pid, unix.SIGKILL)
		}
	}
}
