package host

import (
	"fmt"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/host/spool"
	"github.com/muster-run/muster/providers/host/wire"
)

// hung is the error about a connected queue that does not answer: the state of its process,
// and what to do. Its jobs are not in danger.
func (c *Client) hung(silent wire.Silent) *providers.Error {
	e := &providers.Error{Class: providers.Unreachable, Summary: "The queue of this machine does not answer"}
	dir, err := c.dir()
	if err != nil {
		e.Detail = silent.Error()
		return e
	}
	p := spool.Holder(dir)
	if !p.Alive() {
		e.Detail, e.Hint = silent.Error(), "its own messages are in "+c.logFile()
		return e
	}
	e.Detail = fmt.Sprintf("its process %d has said nothing for %v: %s. Its jobs run on", p.PID, silent.For, told(process.State(p.PID)))
	if silent.For == 0 {
		e.Detail = fmt.Sprintf("its process %d: %s. Its jobs run on", p.PID, told(process.State(p.PID)))
	}
	e.Hint = fmt.Sprintf("end it, and the next one takes its place and its jobs: kill -KILL %d", p.PID)
	if process.State(p.PID) == 'T' {
		e.Hint = fmt.Sprintf("let it go on: kill -CONT %d; or %s", p.PID, e.Hint)
	}
	return e
}

// told describes a process's state. proc_pid_stat(5), field 3.
func told(state byte) string {
	switch state {
	case 'T', 't':
		return "it has been stopped"
	case 'D':
		return "it waits for a disk that does not answer"
	}
	return "it hangs, or the machine is very busy"
}

// stopped reports whether the process that holds a spool has been stopped.
func stopped(dir string) bool {
	p := spool.Holder(dir)
	return p.Alive() && process.State(p.PID) == 'T'
}
