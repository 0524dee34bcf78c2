package kernel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Lacks lists the facts that this system does not tell, a sentence each.
var Lacks = []string{
	"macOS has no control groups: muster does not keep a job to the memory that it asks for",
	"macOS hides the environment of its own programs: muster may not find what such a job left running",
	"macOS does not tell how much memory and processor time a running job uses: muster measures its memory once it has ended",
	"muster reads no GPUs on macOS",
}

// Self is "": a program is started by its path here.
const Self = ""

// states are the letters of ps(1) for P_stat: sys/proc.h, SIDL to SZOMB.
const states = "?IRSTZ"

// Look asks about one process: sysctl(3), kern.proc.pid. One that is gone is
// fs.ErrNotExist.
func Look(pid int) (Process, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid {
		if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			return Process{}, os.ErrNotExist
		}
		return Process{}, errHidden
	}
	p := Process{Start: uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec), State: '?'}
	if n := int(k.Proc.P_stat); n > 0 && n < len(states) {
		p.State = states[n]
	}
	p.Session, _ = unix.Getsid(pid)
	return p, nil
}

// Processes lists the processes of this machine.
func Processes() []int {
	all, _ := unix.SysctlKinfoProcSlice("kern.proc.all")
	var list []int
	for _, k := range all {
		list = append(list, int(k.Proc.P_pid))
	}
	return list
}

// Environ is a process's environment as it was at its exec, as NUL-ended
// strings; nothing of macOS's own programs, which hide it.
func Environ(pid int) []byte {
	_, environ := program(pid)
	return environ
}

// Arguments are those of a process.
func Arguments(pid int) []string {
	args, _ := program(pid)
	return args
}

// program reads kern.procargs2: a count, the program's path, NULs, the
// arguments, and the environment.
func program(pid int) (args []string, environ []byte) {
	b, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(b) < 4 {
		return nil, nil
	}
	n := binary.LittleEndian.Uint32(b)
	_, rest, _ := bytes.Cut(b[4:], []byte{0})
	rest = bytes.TrimLeft(rest, "\x00")
	for ; n > 0 && len(rest) > 0; n-- {
		var arg []byte
		arg, rest, _ = bytes.Cut(rest, []byte{0})
		args = append(args, string(arg))
	}
	return args, rest
}

// Uptime is the time since boot, time asleep included: clock_gettime(3).
func Uptime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// Boot is the id of this boot, "" if it is not known.
func Boot() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid")
	return strings.TrimSpace(id)
}

// Booted is when this boot began.
func Booted() time.Time {
	tv, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return time.Time{}
	}
	return time.Unix(tv.Unix())
}

// Machine is "": macOS tells it through IOKit alone. A host's name has to do.
func Machine() string { return "" }

// Space is the same for all: macOS has no pid namespaces.
func Space() string { return "pid" }

// Memory is this machine's, in bytes; 0 = unknown.
func Memory() int64 {
	n, _ := unix.SysctlUint64("hw.memsize")
	return int64(n)
}

// Resident is getrusage(2)'s ru_maxrss in bytes, which it is here.
func Resident(maxrss int64) int64 { return maxrss }

// Rename renames, and never over another file: then it says unix.EEXIST.
func Rename(from, to string) error {
	err := unix.RenamexNp(from, to, unix.RENAME_EXCL)
	if errors.Is(err, unix.ENOTSUP) {
		return unix.ENOSYS
	}
	return err
}

// Fork starts a program; there are no control groups here.
func Fork(path string, argv []string, attr *syscall.ProcAttr, _ *os.File) (pid, fd int, err error) {
	pid, err = syscall.ForkExec(path, argv, attr)
	return pid, -1, err
}

// AwaitFork is AwaitChild for a process of Fork.
func AwaitFork(pid, _ int) { AwaitChild(pid) }

// AwaitChild returns when a child has ended, and leaves it to be waited for.
func AwaitChild(pid int) {
	if !Await(pid, func() bool { return !ended(pid) }) {
		for !ended(pid) {
			time.Sleep(100 * time.Millisecond)
		}
	}
}

func ended(pid int) bool {
	p, err := Look(pid)
	return err != nil || p.Ended()
}

// Await returns true when a process that need not be a child has ended, false if
// the kernel cannot tell. Alive is asked once it is watched: kqueue(2).
func Await(pid int, alive func() bool) bool {
	queue, err := unix.Kqueue()
	if err != nil {
		return false
	}
	defer unix.Close(queue)
	watch := unix.Kevent_t{Filter: unix.EVFILT_PROC, Flags: unix.EV_ADD | unix.EV_ONESHOT, Fflags: unix.NOTE_EXIT}
	watch.Ident = uint64(pid)
	if _, err := unix.Kevent(queue, []unix.Kevent_t{watch}, nil, nil); err != nil {
		return errors.Is(err, unix.ESRCH) && !alive()
	}
	for alive() {
		out := make([]unix.Kevent_t, 1)
		if n, err := unix.Kevent(queue, nil, out, nil); n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	return true
}

// Alone is false: macOS does not tell whether others have a file open.
func Alone(*os.File) bool { return false }
