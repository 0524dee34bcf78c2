package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/muster-run/muster/internal/kernel"
)

// A run is one process, measured.
type run struct {
	wall, cpu time.Duration
	rss       int64 // bytes, of the process itself at its largest
}

func (b bench) run(dir string, args ...string) (run, error) {
	return measure(dir, b.muster, args...)
}

func measure(dir, name string, args ...string) (run, error) {
	var out bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "CI=true", "MUSTER_TRUST=1", "MUSTER_SPOOL="+filepath.Join(dir, "..", "spool"))
	start := time.Now()
	err := cmd.Run()
	r := run{wall: time.Since(start)}
	if err != nil {
		return r, fmt.Errorf("%s %v: %w\n%s", filepath.Base(name), args, err, tail(out.Bytes()))
	}
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.rss = kernel.Resident(u.Maxrss)
	}
	return r, nil
}

func tail(b []byte) []byte {
	const most = 2000
	return b[max(0, len(b)-most):]
}
