//go:build linux && !cgo

package ulimit

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

//go:embed floor.h
var floors string

// Check says what the limits of this user lack.
func Check() error {
	return errors.Join(memory("ADDRESS", unix.RLIMIT_AS, "-v"), memory("DATA", unix.RLIMIT_DATA, "-d"), threads())
}

// memory compares a limit with the floor.
func memory(floor string, resource int, option string) error {
	need := number(floor + "_MIB")
	var r unix.Rlimit
	if unix.Getrlimit(resource, &r) != nil || r.Cur >= uint64(need)<<20 {
		return nil
	}
	return said("MEMORY", need, option, strconv.FormatUint(r.Cur>>10, 10), option)
}

// threads counts the threads that the user may still start, where few are
// allowed. Root is not limited: fork(2), EAGAIN.
func threads() error {
	const many = 4096 // a limit that is not worth a count
	var r unix.Rlimit
	if os.Getuid() == 0 || unix.Getrlimit(unix.RLIMIT_NPROC, &r) != nil || r.Cur > many {
		return nil
	}
	need := min(runtime.NumCPU(), number("CORES")) + number("THREADS")
	more := int(r.Cur) - others()
	if more >= need {
		return nil
	}
	return said("PROCESSES", need, max(more, 0), strconv.FormatUint(r.Cur, 10))
}

// others are the threads of this user's other processes.
func others() int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	n := 0
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		var st unix.Stat_t
		if unix.Stat("/proc/"+e.Name(), &st) != nil || int(st.Uid) != os.Getuid() {
			continue
		}
		status, _ := os.ReadFile("/proc/" + e.Name() + "/status")
		if _, after, ok := strings.Cut(string(status), "\nThreads:"); ok {
			count, _, _ := strings.Cut(after, "\n")
			t, _ := strconv.Atoi(strings.TrimSpace(count))
			n += t
		}
	}
	return n
}

// number is a number of floor.h.
func number(name string) int {
	n, _ := strconv.Atoi(defined(name))
	return n
}

// said is a message of floor.h.
func said(name string, values ...any) error {
	format, _ := strconv.Unquote(defined(name))
	return errors.New(strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf(format, values...), "muster: "), "\n"))
}

func defined(name string) string {
	m := regexp.MustCompile(`(?m)^#define FLOOR_` + name + ` (.*)$`).FindStringSubmatch(floors)
	if m == nil {
		panic("floor.h has no FLOOR_" + name)
	}
	return m[1]
}
