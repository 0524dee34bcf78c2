package process

import (
	"bytes"
	"os"
	"slices"
	"strconv"

	"github.com/muster-run/muster/internal/kernel"
)

// All lists the processes of this machine but this one.
func All() []int {
	return slices.DeleteFunc(kernel.Processes(), func(pid int) bool { return pid == os.Getpid() })
}

// Session is a process's session id, 0 if its leader is outside of this pid namespace, as for
// a process started into a container. Session fails for a process that is gone or a zombie.
func Session(pid int) (sid int, alive bool) {
	p, err := kernel.Look(pid)
	if err != nil || p.Ended() {
		return 0, false
	}
	return p.Session, true
}

// Variable is the value of a variable in such an environment.
func Variable(environ []byte, name string) (string, bool) {
	key := []byte(name + "=")
	for len(environ) > 0 {
		line, rest, _ := bytes.Cut(environ, []byte{0})
		if v, ok := bytes.CutPrefix(line, key); ok {
			return string(v), true
		}
		environ = rest
	}
	return "", false
}

// Holds reports whether a process was started with a job's token, for this
// attempt.
func Holds(pid int, token string, attempt int) bool {
	env := kernel.Environ(pid)
	t, ok := Variable(env, "MUSTER_TOKEN")
	if !ok || t != token {
		return false
	}
	n, _ := Variable(env, "MUSTER_ATTEMPT")
	return n == strconv.Itoa(attempt)
}

// State is the letter of a process's state, 0 if it is gone.
func State(pid int) byte {
	p, _ := kernel.Look(pid)
	return p.State
}
