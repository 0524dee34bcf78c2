package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Lacks lists the facts that this system does not tell, a sentence each.
var Lacks []string

// Self starts this very program, also after its file was replaced.
const Self = "/proc/self/exe"

// Look asks about one process: proc_pid_stat(5). One that is gone is
// fs.ErrNotExist.
func Look(pid int) (Process, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	switch {
	case errors.Is(err, unix.ESRCH):
		return Process{}, os.ErrNotExist
	case errors.Is(err, os.ErrNotExist) && pid > 0 && !errors.Is(unix.Kill(pid, 0), unix.ESRCH):
		return Process{}, errHidden
	case err != nil:
		return Process{}, err
	}
	// The second field is the name in parentheses and may hold anything.
	f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(f) < 20 {
		return Process{}, fmt.Errorf("/proc/%d/stat is cut short", pid)
	}
	p := Process{State: f[0][0]}
	p.Session, _ = strconv.Atoi(string(f[3]))
	p.Start, err = strconv.ParseUint(string(f[19]), 10, 64)
	return p, err
}

// Processes lists the processes of this machine.
func Processes() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var list []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// Environ is a process's environment as it was at its exec, as NUL-ended strings.
func Environ(pid int) []byte { return strs(pid, "environ") }

// Arguments are those of a process.
func Arguments(pid int) []string { return split(strs(pid, "cmdline")) }

// strs reads the environment or the arguments of a process. In the middle of its exec a process
// has neither yet, and would be taken for another one: strs waits for the end of the exec, at
// most execTakes.
func strs(pid int, name string) []byte {
	dir := "/proc/" + strconv.Itoa(pid) + "/"
	b, err := os.ReadFile(dir + name)
	if err != nil || len(b) > 0 {
		return b
	}
	for began := Uptime(); executing(dir) && Uptime()-began < execTakes; {
		time.Sleep(time.Millisecond)
	}
	b, _ = os.ReadFile(dir + name)
	return b
}

const execTakes = 200 * time.Millisecond

// executing reports whether a process has memory (vsize), which a zombie and a thread of the
// kernel lack, but no environment (env_end) in it yet: proc_pid_stat(5).
func executing(dir string) bool {
	text, err := os.ReadFile(dir + "stat")
	if err != nil {
		return false
	}
	f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	return len(f) > 48 && string(f[20]) != "0" && string(f[48]) == "0"
}

func split(b []byte) []string {
	return strings.FieldsFunc(string(b), func(c rune) bool { return c == 0 })
}

// Uptime is the time since boot, time asleep included.
func Uptime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// Boot is the id of this boot, "" if it is not known: random(4).
func Boot() string { return line("/proc/sys/kernel/random/boot_id") }

// Booted is when this boot began: proc_stat(5), btime.
func Booted() time.Time {
	stat, _ := os.ReadFile("/proc/stat")
	for row := range strings.Lines(string(stat)) {
		if text, ok := strings.CutPrefix(row, "btime "); ok {
			if sec, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil {
				return time.Unix(sec, 0)
			}
		}
	}
	return time.Time{}
}

// Machine is the id of this installation, "" if it has none: machine-id(5).
func Machine() string { return line("/etc/machine-id") }

// Space is the id of this pid namespace, outside of which pids mean nothing.
func Space() string {
	space, _ := os.Readlink("/proc/self/ns/pid")
	return space
}

func line(path string) string {
	b, _ := os.ReadFile(path)
	return strings.TrimSpace(string(b))
}

// Memory is this machine's, in bytes; 0 = unknown.
func Memory() int64 {
	var si unix.Sysinfo_t
	if unix.Sysinfo(&si) != nil {
		return 0
	}
	return int64(si.Totalram) * int64(si.Unit)
}

// Resident is getrusage(2)'s ru_maxrss in bytes.
func Resident(maxrss int64) int64 { return maxrss << 10 }

// Rename renames, and never over another file: then it says unix.EEXIST.
// unix.EINVAL and unix.ENOSYS say that the file system cannot.
func Rename(from, to string) error {
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
}

// Fork starts a program, in a control group if one is open, and makes a file that
// AwaitFork reads; it has none before Linux 5.4.
func Fork(path string, argv []string, attr *syscall.ProcAttr, group *os.File) (pid, fd int, err error) {
	fd = -1
	attr.Sys.PidFD, attr.Sys.UseCgroupFD = &fd, group != nil
	if group != nil {
		attr.Sys.CgroupFD = int(group.Fd())
	}
	pid, err = syscall.ForkExec(path, argv, attr)
	return pid, fd, err
}

// AwaitFork is AwaitChild for a process of Fork: it closes the file and, where it
// can, keeps no thread waiting.
func AwaitFork(pid, fd int) {
	if fd < 0 || !awaitFD(fd, pid) {
		AwaitChild(pid)
	}
}

// awaitFD parks the goroutine until a pidfd says that its process has ended,
// and closes it. pidfd_open(2): it is readable then.
func awaitFD(fd, pid int) bool {
	if unix.SetNonblock(fd, true) != nil {
		unix.Close(fd)
		return false
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil || f.SetReadDeadline(time.Time{}) != nil { // not to be polled
		return false
	}
	return raw.Read(func(uintptr) bool {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
		return err == nil && info.Signo != 0 || err != nil && err != unix.EINTR
	}) == nil
}

// AwaitChild returns when a child has ended, and leaves it to be waited for.
func AwaitChild(pid int) {
	var info unix.Siginfo
	for unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// Await returns true when a process that need not be a child has ended, false if
// the kernel cannot tell (before Linux 5.3). Alive is asked once it is watched.
func Await(pid int, alive func() bool) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	for alive() { // asked after the open: the descriptor is this process's
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err == nil {
			break
		}
	}
	return true
}

// Alone reports whether nobody else has a file open that is open for writing
// here: fcntl(2), F_SETLEASE.
func Alone(f *os.File) bool {
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		return false
	}
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	return err == nil
}
