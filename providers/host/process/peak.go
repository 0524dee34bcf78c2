package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/kernel"
)

// A Peak measures the most memory that a child, or one of the processes it waited for, had
// resident.
//
// The kernel counts that for a parent, and is right where the child used more than the parent:
// exec(2) carries over the peak of the memory that it replaces, which is the parent's. Below
// that, Peak reads the living processes, if it came late enough.
type Peak struct {
	mu    sync.Mutex
	pid   int // 0: over
	begun time.Time
	last  time.Time // of the last look that found something
	ended time.Time
	seen  int64 // bytes
	next  *time.Timer
}

// Looks come at growing intervals, so that the last is in the last third of the
// child's life even where the machine is busy.
const (
	peakFirst = 20 * time.Millisecond
	peakMost  = 10 * time.Second
	peakPart  = 5 // of its life so far
	peakLast  = 3
)

// Watch begins to look at a child that has not been waited for.
func (p *Peak) Watch(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pid, p.begun = pid, time.Now()
	p.next = time.AfterFunc(peakFirst, p.look)
}

// Stop ends the looks of a Watch; it comes before the child is waited for, after
// which its number may be another's.
func (p *Peak) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pid, p.ended = 0, time.Now()
	p.next.Stop()
}

func (p *Peak) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid == 0 {
		return
	}
	if n := resident(p.pid); n > 0 {
		p.seen, p.last = max(p.seen, n), time.Now()
	}
	p.next.Reset(min(max(time.Since(p.begun)/peakPart, peakFirst), peakMost))
}

// Bytes is the peak of a child that has ended, from the kernel's maxrss (as getrusage(2) has
// it). It is -1 where no look came late enough: the child was too short to measure, and the
// kernel's figure is the parent's.
func (p *Peak) Bytes(maxrss int64) int64 {
	var own unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &own) == nil && maxrss > own.Maxrss {
		return kernel.Resident(maxrss)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == 0 || p.ended.Sub(p.last) > p.ended.Sub(p.begun)/peakLast {
		return -1
	}
	return min(p.seen, kernel.Resident(maxrss))
}

// resident is the most memory, in bytes, that one of a process and its living
// descendants has had resident; 0 = unknown. proc(5): VmHWM; children, where
// the kernel has it (CONFIG_PROC_CHILDREN).
func resident(pid int) (most int64) {
	dir := "/proc/" + strconv.Itoa(pid)
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return 0
	}
	if _, rest, ok := bytes.Cut(status, []byte("\nVmHWM:")); ok {
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		if f := bytes.Fields(line); len(f) == 2 {
			n, _ := strconv.ParseInt(string(f[0]), 10, 64)
			most = n << 10
		}
	}
	lists, err := filepath.Glob(dir + "/task/*/children")
	if err != nil || len(lists) == 0 {
		return 0
	}
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, f := range bytes.Fields(text) {
			if child, err := strconv.Atoi(string(f)); err == nil {
				most = max(most, resident(child))
			}
		}
	}
	return most
}
