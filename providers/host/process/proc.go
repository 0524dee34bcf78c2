package process

import (
	"bytes"
	"os"
	"strconv"
)

// All lists the processes of this machine but this one.
func All() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var list []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil && pid != os.Getpid() {
			list = append(list, pid)
		}
	}
	return list
}

// Session is a process's session id; 0 of one whose leader is outside of this
// pid namespace, as of what was started into a container. It is not alive if it
// is gone or a zombie.
func Session(pid int) (sid int, alive bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 4 || f[0][0] == 'Z' || f[0][0] == 'X' {
		return 0, false
	}
	sid, err = strconv.Atoi(string(f[3]))
	return sid, err == nil
}

// Environ is one process's environment as it was at its exec, as NUL-ended
// strings.
func Environ(pid int) []byte {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return b
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
	env := Environ(pid)
	t, ok := Variable(env, "MUSTER_TOKEN")
	if !ok || t != token {
		return false
	}
	n, _ := Variable(env, "MUSTER_ATTEMPT")
	return n == strconv.Itoa(attempt)
}

// State is the letter of a process's state, 0 if it is gone. proc_pid_stat(5),
// field 3.
func State(pid int) byte {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	i := bytes.LastIndexByte(b, ')')
	if err != nil || i < 0 || len(b) < i+3 {
		return 0
	}
	return b[i+2]
}
