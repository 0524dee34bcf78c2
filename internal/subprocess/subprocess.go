// Package subprocess runs the commands of other programs to their end: schedulers' tools, ssh(1),
// git(1), and what a campaign names. Each ends when its context does, and none is held up for
// long, nor fails, because of a process that it left in the background with its output open.
package subprocess

import (
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// linger is how long a command's output is read after its end, while a process that it left
// in the background may still write there. A busy machine may take seconds to read the rest.
const linger = 5 * time.Second

// Run runs a command, whose processes all end with it.
func Run(cmd *exec.Cmd) error { return run(cmd, linger, true) }

// Leave runs a command, and leaves alone what it started in the background. Unless cmd leads a
// session or a group of its own, it keeps the terminal, where it may ask a person something.
func Leave(cmd *exec.Cmd) error { return run(cmd, linger, false) }

func run(cmd *exec.Cmd, linger time.Duration, sweep bool) error {
	if cmd.SysProcAttr == nil && sweep {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	}
	if attr := cmd.SysProcAttr; cmd.Cancel != nil && attr != nil && (attr.Setpgid || attr.Setsid) {
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	}
	cmd.WaitDelay = linger // for a reader of its input that it left in the background
	var out output
	same := cmd.Stdout != nil && cmd.Stderr == cmd.Stdout
	err := out.pipe(&cmd.Stdout)
	if same {
		cmd.Stderr = cmd.Stdout
	} else if err == nil {
		err = out.pipe(&cmd.Stderr)
	}
	if err == nil {
		err = cmd.Start()
	}
	for _, w := range out.write {
		w.Close()
	}
	if err == nil {
		if err = cmd.Wait(); err == exec.ErrWaitDelay {
			err = nil
		}
		if sweep {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	}
	out.finish(linger)
	return err
}

// An output has the pipes that a command writes to, and who copies what comes through.
type output struct {
	read, write []*os.File
	done        []chan struct{}
}

// pipe puts a pipe in the place of a writer, and copies what comes through it. A command whose
// writer takes no more gets a broken pipe, and does not wait.
func (o *output) pipe(to *io.Writer) error {
	w := *to
	if _, is := w.(*os.File); is || w == nil {
		return nil
	}
	r, into, err := os.Pipe()
	if err != nil {
		return err
	}
	*to = into
	done := make(chan struct{})
	o.read, o.write, o.done = append(o.read, r), append(o.write, into), append(o.done, done)
	go func() {
		defer close(done)
		defer r.Close()
		_, _ = io.Copy(struct{ io.Writer }{w}, r) // by its Write alone, which may bound what it keeps
	}()
	return nil
}

// finish waits until all was copied, but no longer than linger.
func (o *output) finish(linger time.Duration) {
	late := time.NewTimer(linger)
	defer late.Stop()
	for i, r := range o.read {
		select {
		case <-o.done[i]:
		case <-late.C:
			late.Reset(0)
			_ = r.SetReadDeadline(time.Now())
			<-o.done[i]
		}
	}
}
