package file

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// system says which installation and boot this is: machine-id(5), and random(4)
// for boot_id, pid_namespaces(7), proc_stat(5) for btime.
func system() (machine, boot, space string, booted time.Time) {
	machine = line("/etc/machine-id")
	boot = line("/proc/sys/kernel/random/boot_id")
	space, _ = os.Readlink("/proc/self/ns/pid")
	stat, _ := os.ReadFile("/proc/stat")
	for row := range strings.Lines(string(stat)) {
		if text, ok := strings.CutPrefix(row, "btime "); ok {
			if sec, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil {
				booted = time.Unix(sec, 0)
			}
		}
	}
	return machine, boot, space, booted
}

func line(path string) string {
	b, _ := os.ReadFile(path)
	return strings.TrimSpace(string(b))
}

// startOf is when a process started, in ticks since boot (proc_pid_stat(5),
// field 22), 0 where /proc hides it, and whether it runs at all. One that has
// ended and was not waited for does not.
func startOf(pid int) (ticks uint64, running bool) {
	if pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return 0, false
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, true
	}
	text := string(b)
	f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // field 3 on: the name may hold blanks
	if len(f) < 20 {
		return 0, true
	}
	if f[0] == "Z" || f[0] == "X" {
		return 0, false
	}
	ticks, _ = strconv.ParseUint(f[19], 10, 64)
	return ticks, true
}
