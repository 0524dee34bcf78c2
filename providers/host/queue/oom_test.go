package queue

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/cgroup"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/gpu/gputest"
	"github.com/muster-run/muster/providers/offer"
)

func ended(o offer.Observation) bool {
	return o.Status == offer.Completed || o.Status == offer.Failed || o.Status == offer.Cancelled
}

// The three kinds of running out of memory are told apart: the device's, the
// machine's or the job's own group's, and a container's.
func TestOOMKinds(t *testing.T) {
	// Requirement: OOM-04
	for _, c := range []struct {
		name, command string
		kills         bool // the machine counts a kill
		grouped       bool // the job has a group of its own
		class         string
	}{
		{"device", "echo 'torch.OutOfMemoryError: CUDA out of memory.' >&2; exit 1", false, true, "oom_gpu"},
		{"device, as its own group was killed, too", "echo 'oom_kill 1' > $CG/memory.events; echo 'CUDA out of memory.' >&2; exit 1", true, true, "oom_host"},
		{"own group", "echo 'oom_kill 1' > $CG/memory.events; kill -9 $$", true, true, "oom_host"},
		{"a child in the own group", "echo 'oom_kill 1' > $CG/memory.events; exit 1", true, true, "oom_host"},
		{"machine", "kill -9 $$", true, false, "oom_host"},
		{"somebody's kill", "kill -9 $$", false, false, "killed"},
		{"somebody else's memory", "echo 'oom_kill 0' > $CG/memory.events; kill -9 $$", true, true, "killed"},
		{"container", "docker run img", true, false, "oom_sched"},
		{"container, and not the own group", "echo 'oom_kill 0' > $CG/memory.events; docker run img", true, true, "oom_sched"},
		{"container stopped by somebody", "docker run img", false, false, "killed"},
		{"exit 1 of a container", "docker run ok", true, false, "unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, p := inside(t, gpu.None{})
			var kills atomic.Int64
			q.do(t.Context(), func() {
				q.starts.killed = kills.Load
				if c.grouped {
					q.scheduler.cgroups = cgroup.At(t.TempDir())
				}
			})
			bin := filepath.Join(p.Workdir, "bin")
			os.Mkdir(bin, 0o755)
			program.Write(t, filepath.Join(bin, "docker"), "#!/bin/sh\n[ \"$2\" = ok ] && exit 1\nexit 137\n")
			j := gpuJob(p, "while [ ! -e go ]; do sleep 0.1; done; "+c.command)
			j.Shape.GPUs = 0
			j.Env = []providers.EnvVar{{Name: "PATH", Value: bin + ":" + os.Getenv("PATH")}, {Name: "CG", Value: string(q.scheduler.cgroups.Group(j.Token + ".0"))}}
			submitInside(t, q, p, j)
			eventually(t, q, j.Token, is(offer.Running))
			if c.kills {
				kills.Add(1)
			}
			os.WriteFile(filepath.Join(p.Workdir, "go"), nil, 0o644)
			if o := eventually(t, q, j.Token, ended); o.Status != offer.Failed || o.Class != c.class {
				t.Errorf("%s of class %q, want %q: %+v", o.Status, o.Class, c.class, o)
			}
		})
	}
}

// What a job's group counted is its usage, also of a job that was adopted.
func TestUsageOfTheGroup(t *testing.T) {
	// Requirement: SCR-07
	q, p := inside(t, gpu.None{})
	q.do(t.Context(), func() { q.scheduler.cgroups = cgroup.At(t.TempDir()) })
	j := gpuJob(p, `while [ ! -s $CG/cgroup.procs ]; do sleep 0.1; done; echo "usage_usec 2500000" > $CG/cpu.stat; echo 734003200 > $CG/memory.peak; grep -cx "$(cut -d' ' -f6 /proc/$$/stat)" $CG/cgroup.procs > members`)
	j.Shape.GPUs = 0
	group := q.scheduler.cgroups.Group(j.Token + ".0")
	j.Env = append(testEnviron, providers.EnvVar{Name: "CG", Value: string(group)})
	submitInside(t, q, p, j)
	o := eventually(t, q, j.Token, is(offer.Completed))
	if o.Usage == nil || o.Usage.CPU != 2500*time.Millisecond || o.Usage.MaxRSS != 700<<20 {
		t.Errorf("usage: %+v", o.Usage)
	}
	if b, _ := os.ReadFile(filepath.Join(p.Workdir, "members")); strings.TrimSpace(string(b)) != "1" {
		t.Errorf("the wrapper's session is in the group %q times", b)
	}
}

// After running out of a device's memory a job waits its delay, takes another
// device first, is launched so often and no more, and holds up only what
// comes after it.
func TestRetryAfterOOM(t *testing.T) {
	b := twoGPUs(token())
	q, p := inside(t, b)
	j := gpuJob(p, `echo "$CUDA_VISIBLE_DEVICES $(date +%s%N)" >> devs; echo "CUDA out of memory" >&2; exit 1`)
	j.Retry = providers.Retry{On: []string{"oom"}, Max: 3, Delay: 300 * time.Millisecond}
	next, other := gpuJob(p, "echo > next"), gpuJob(p, "true")
	next.After = []string{j.Token}
	next.Shape.GPUs = 0
	submitInside(t, q, p, j, next, other)
	if o := eventually(t, q, j.Token, ended); o.Status != offer.Failed || o.Class != "oom_gpu" || o.Attempt != 3 {
		t.Fatalf("%+v", o)
	}
	text, _ := os.ReadFile(filepath.Join(p.Workdir, "devs"))
	var devs []int
	var at []int64
	for line := range strings.Lines(string(text)) {
		var d int
		var ns int64
		fmt.Sscan(line, &d, &ns)
		devs, at = append(devs, d), append(at, ns)
	}
	if len(devs) != 3 || devs[0] == devs[1] {
		t.Errorf("ran on %v", devs)
	}
	for i := 1; i < len(at); i++ {
		if gap := time.Duration(at[i] - at[i-1]); gap < j.Retry.Delay {
			t.Errorf("launched again after %v", gap)
		}
	}
	eventually(t, q, other.Token, is(offer.Completed))
	if o := eventually(t, q, next.Token, ended); !o.GivenUp() {
		t.Errorf("what comes after it: %+v", o)
	}
}

// A job whose device had a lethal error while it ran has lost the device,
// whatever it says itself; errors of before, and the program's own, do not count.
func TestXid(t *testing.T) {
	state, _ := idleGPUs(2)
	path, set := gputest.Library(t, state+"xid 0 31\n")
	r, err := gpu.OpenNVML(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	q, p := inside(t, r)
	p.GPUs = gpu.Selection{"0"}
	run := func(xids string) offer.Observation {
		t.Helper()
		started := filepath.Join(p.Workdir, "go")
		os.Remove(started)
		j := gpuJob(p, "while [ ! -e go ]; do sleep 0.1; done; echo 'RuntimeError: CUDA error' >&2; exit 1")
		submitInside(t, q, p, j)
		eventually(t, q, j.Token, is(offer.Running))
		set(state + xids)
		os.WriteFile(started, nil, 0o644)
		return eventually(t, q, j.Token, ended)
	}
	if o := run("xid 0 31\n"); o.Class != "unknown" {
		t.Errorf("an error of before: %+v", o)
	}
	if o := run("xid 0 31\nxid 0 13\nxid 1 79\n"); o.Class != "unknown" {
		t.Errorf("the program's own, and another device's: %+v", o)
	}
	if o := run("xid 0 31\nxid 0 13\nxid 1 79\nxid 0 79\n"); o.Class != "gpu_lost" || !strings.Contains(o.Reason, "fallen off the bus") {
		t.Errorf("its own device's: %+v", o)
	}
}
