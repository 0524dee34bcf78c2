package launch

import (
	"os/exec"
	"runtime"
	"sync"
)

// spawner starts processes from one OS thread that lives as long as muster:
// the parent-death signal fires when the thread that forked ends, not the
// process (prctl(2), PR_SET_PDEATHSIG). This is the one goroutine that is
// meant never to end.
var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

func spawn(cmd *exec.Cmd) error {
	done := make(chan error)
	spawner() <- func() { done <- cmd.Start() }
	return <-done
}
