package sshx

import (
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// A child is a command of this machine that carries a stream: ssh(1), or a
// ProxyCommand. It leads a process group of its own.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *os.File
	stderr tail
	once   sync.Once     // of Close
	ended  chan struct{} // whoever waits for the command closes it
}

// start starts the command. summary says what failed where its program does not start.
func (c *child) start(cmd *exec.Cmd, summary string) (err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.cmd, c.ended, cmd.Stderr = cmd, make(chan struct{}), &c.stderr
	cmd.WaitDelay = time.Second // for processes it left behind with its stderr
	if c.in, err = cmd.StdinPipe(); err != nil {
		return err
	}
	out, w, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stdout, c.out = w, out
	err = cmd.Start()
	w.Close()
	if err != nil {
		out.Close()
		return configError(summary, err.Error(), "")
	}
	return nil
}
