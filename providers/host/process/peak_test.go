package process

import (
	"fmt"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/kernel"
	"github.com/muster-run/muster/internal/needs"
)

// TestPeak: what a child had resident, started by a process that has more.
func TestPeak(t *testing.T) {
	const mib = 1 << 20
	needs.Program(t, "dd")
	if resident(unix.Getpid()) == 0 {
		needs.Absent(t, "/proc/PID/task/TID/children")
	}
	ballast := make([]byte, 100*mib)
	for i := 0; i < len(ballast); i += 4096 {
		ballast[i] = 1
	}
	var own unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &own); err != nil {
		t.Fatal(err)
	}
	more := own.Maxrss>>10 + 50 // MiB; the race detector has several times the ballast
	for name, c := range map[string]struct {
		command   string
		from, to  int64 // bytes
		inherited bool  // the kernel's word is no more than this process has
	}{
		"small":                 {"sleep 1; exit 0", mib / 2, 20 * mib, true},
		"a child of it":         {"dd if=/dev/zero bs=40M count=1 2>/dev/null | { sleep 1; cat >/dev/null; }", 38 * mib, 60 * mib, true},
		"more than its starter": {fmt.Sprintf("dd if=/dev/zero bs=%dM count=1 of=/dev/null 2>/dev/null", more), more * mib, (more + 20) * mib, false},
	} {
		t.Run(name, func(t *testing.T) {
			var p Peak
			pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", c.command}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}})
			if err != nil {
				t.Fatal(err)
			}
			p.Watch(pid)
			usage := reap(t, &p, pid)
			if got := p.Bytes(usage.Maxrss); got < c.from || got > c.to {
				t.Errorf("%d MiB, want from %d to %d; the kernel says %d", got/mib, c.from/mib, c.to/mib, usage.Maxrss>>10)
			}
			if c.inherited && usage.Maxrss<<10 < 100*mib {
				t.Errorf("the kernel says %d MiB: it carries nothing over any more", usage.Maxrss>>10)
			}
		})
	}
	ballast[0]++
}

// One that nobody saw alive was too short to measure: the kernel tells what its
// starter has.
func TestPeakOfTheUnseen(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended(cmd.Process.Pid)
	var p Peak
	p.Watch(cmd.Process.Pid)
	p.look()
	usage := reap(t, &p, cmd.Process.Pid)
	if got := p.Bytes(usage.Maxrss); got != -1 {
		t.Errorf("%d bytes, not unknown; the kernel says %d KiB", got, usage.Maxrss)
	}
}

func ended(pid int) {
	kernel.AwaitChild(pid)
}

func reap(t *testing.T, p *Peak, pid int) (usage unix.Rusage) {
	t.Helper()
	ended(pid)
	p.Stop()
	if _, err := unix.Wait4(pid, nil, 0, &usage); err != nil {
		t.Fatal(err)
	}
	return usage
}
