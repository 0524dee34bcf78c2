package systemtest

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/lab"
)

const shortJobs = 2000

// mostMemory bounds each process of muster's for that many short jobs, here or
// on the host: far more than it takes, far less than it would if jobs piled
// up.
const mostMemory = 512 << 20

// TestSystemSSHManyShortJobs runs them over one connection, and prints how fast and
// in how much memory.
func TestSystemSSHManyShortJobs(t *testing.T) {
	h := lab.Hosts(t, 1)[0]
	r := newRemote(t, []*lab.Host{h}, fmt.Sprintf(`
campaign "many" {}
backend "ssh" "lab" {
  host    = "h1"
  workdir = "FOLDER/work"
}
grid "g" { axes = { i = range(%d) } }
phase "p" {
  grid = grid.g
  place { candidates = [backend.ssh.lab] }
  job {
    command = "echo ${cell.i} >> RECORD"
    resources { walltime = "10m" }
  }
}
`, shortJobs))
	r.patient()
	before := h.Connections()
	began := time.Now()
	f := r.follow("apply", "-auto-approve")
	ended := make(chan struct{})
	peaks := make(chan map[string]int64)
	go func() { peaks <- r.peaks(ended) }()
	out, code := f.end()
	took := time.Since(began)
	close(ended)
	if code != 0 || !strings.Contains(out, fmt.Sprintf("%d of %d jobs done", shortJobs, shortJobs)) {
		t.Fatalf("exit %d:\n%s", code, out)
	}
	if n := h.Connections() - before; n != 1 {
		t.Errorf("%d connections", n)
	}
	seen := map[string]int{}
	for _, line := range r.lines() {
		seen[line]++
	}
	for i := range shortJobs {
		if n := seen[strconv.Itoa(i)]; n != 1 {
			t.Errorf("job %d ran %d times", i, n)
		}
	}
	for who, peak := range <-peaks {
		t.Logf("%s took at most %d MiB", who, peak>>20)
		if peak > mostMemory {
			t.Errorf("%s took %d MiB", who, peak>>20)
		}
	}
	t.Logf("%d jobs in %.1f s, planned, put there and applied: %.0f jobs/s", shortJobs, took.Seconds(), shortJobs/took.Seconds())
}

var hostRole = regexp.MustCompile(`muster-host-\w+\x00(\w+)`)

// peaks watches the most memory that each kind of muster's processes has
// held, here and on the host, until told to stop.
func (r *remote) peaks(stop <-chan struct{}) map[string]int64 {
	peaks := map[string]int64{}
	for {
		for _, p := range r.processes() {
			name := p.role + " here"
			peaks[name] = max(peaks[name], peakOf(p.pid))
		}
		for pid, line := range commandLines() {
			if m := hostRole.FindStringSubmatch(line); m != nil {
				name := m[1] + " on the host"
				peaks[name] = max(peaks[name], peakOf(pid))
			}
		}
		select {
		case <-stop:
			return peaks
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// peakOf is the most memory a process has held; proc_pid_status(5), VmHWM.
func peakOf(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10
		}
	}
	return 0
}
