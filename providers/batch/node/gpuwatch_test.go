package node

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/gpu/gputest"
	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/wrapper"
)

// TestGPUMemory: of the devices that Slurm gave the job, the memory is told that
// its own processes had there at the most; 0 only where nothing was put on them,
// and nothing where that was not to be seen.
func TestGPUMemory(t *testing.T) {
	device := func(index, used int) string {
		return fmt.Sprintf("device %d GPU-%08d-%s NVIDIA_A100-SXM4-40GB 40960 %d\n", index, index, rand.Text(), used)
	}
	for name, c := range map[string]struct {
		given string
		later func(pid int) string // of the state, once the first look is over
		looks int                  // that have to see it
		want  int64                // MiB
	}{
		"the most on one of two":          {"0,1", func(pid int) string { return fmt.Sprintf("process 0 %d 4096\nprocess 1 %d 9000\n", pid, pid) }, 1, 9000},
		"on a device that is not its own": {"0", func(pid int) string { return fmt.Sprintf("process 1 %d 9000\nprocess 0 %d 300\n", pid, pid) }, 1, 300},
		"nothing":                         {"0,1", func(int) string { return "" }, gpu.UseNone, 0},
		"a stranger's":                    {"0", func(int) string { return "process 0 1 9000\n" }, 1, -1},
		"a device that is not there":      {"0,7", func(int) string { return "" }, 1, -1},
	} {
		t.Run(name, func(t *testing.T) {
			both := device(0, 4) + device(1, 4)
			smi, set := gputest.SMI(t, both)
			dir := t.TempDir()
			calls := filepath.Join(dir, "calls")
			program.Write(t, filepath.Join(dir, "nvidia-smi"), fmt.Sprintf("#!/bin/sh\necho >> %s\nexec %s \"$@\"\n", calls, smi))
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			w := newWorld(t)
			j := w.job("")
			command := exec.Command("sleep", "1000")
			command.Env = append(os.Environ(), "MUSTER_TOKEN="+j.Token, "MUSTER_ATTEMPT=1")
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { command.Process.Kill(); command.Wait() })
			s := &start{spool: w.spool, batch: w.batch, job: &j, begin: Begin{Token: j.Token, GPUs: strings.Split(c.given, ",")}}
			watch := s.watchGPUs(attempt.Processes{Job: &j, Attempt: wrapper.Attempt(&j, 0), Leader: command.Process.Pid}, 0)
			asked := func(times int) { // waits until nvidia-smi was asked so often more
				t.Helper()
				lines := func() int { b, _ := os.ReadFile(calls); return len(b) }
				for until := lines() + times; lines() < until; time.Sleep(10 * time.Millisecond) {
				}
			}
			asked(1)
			set(both + c.later(command.Process.Pid))
			asked(2 * (c.looks + 1)) // for the devices, and for what runs there
			use := watch.end()
			if got := use.Bytes(watch.began-time.Hour, monotonic.Uptime()); got != max(c.want<<20, -1) {
				t.Errorf("%d bytes, want %d MiB", got, c.want)
			}
		})
	}
}

// TestStalledShowsGPUs: the reason of a stalled job shows how busy its own GPUs are.
func TestStalledShowsGPUs(t *testing.T) {
	state := "busy 0 98\nbusy 1 0\n"
	for i := range 3 {
		state += fmt.Sprintf("device %d GPU-%d-%s NVIDIA_A100-SXM4-40GB 40960 4\n", i, i, rand.Text())
	}
	smi, _ := gputest.SMI(t, state)
	t.Setenv("PATH", filepath.Dir(smi)+":"+os.Getenv("PATH"))
	for given, want := range map[string]string{"0": ", GPU 98 % busy", "0,1": ", GPUs 0–98 % busy", "0,2": " cores busy"} {
		t.Run(given, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			j := w.job("exec sleep 600")
			j.Watch = providers.Watch{StalledAfter: 15 * time.Second, End: true}
			_, e := w.run(j, allocation{job: "5", gpus: strings.Split(given, ",")})
			if e.Seen.Class != failure.Stalled || !strings.HasSuffix(e.Seen.Reason, want) {
				t.Errorf("%s: %q, want %q", e.Seen.Class, e.Seen.Reason, want)
			}
		})
	}
}

// TestNoGPUs: a job without devices, and one that asks for next to no memory, is
// not looked at; and where nothing can be asked, nothing is said.
func TestNoGPUs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job("")
	s := &start{spool: w.spool, batch: w.batch, job: &j}
	own := attempt.Processes{Job: &j, Attempt: wrapper.Attempt(&j, 0), Leader: os.Getpid()}
	if w := s.watchGPUs(own, gpu.Rest); w != nil || w.memory() != nil {
		t.Error("a job without devices is looked at")
	}
	s.begin.GPUs, j.Shape.Memory = []string{"0"}, littleMemory-1
	if s.watchGPUs(own, gpu.Rest) != nil {
		t.Error("a job of little memory is looked at")
	}
	j.Shape.Memory = littleMemory
	if w := s.watchGPUs(own, gpu.Rest); w == nil || w.memory() != nil {
		t.Error("memory in use where there is no device")
	}
}
