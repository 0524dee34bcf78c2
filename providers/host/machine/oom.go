package machine

import (
	"bytes"
	"os"
	"strconv"
)

// OOMKills is how many processes the machine has killed for memory; -1 =
// unknown. proc_vmstat(5), oom_kill, since Linux 4.13.
func OOMKills() int64 {
	b, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return -1
	}
	_, rest, ok := bytes.Cut(b, []byte("\noom_kill "))
	if !ok {
		return -1
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err := strconv.ParseInt(string(line), 10, 64)
	if err != nil {
		return -1
	}
	return n
}
