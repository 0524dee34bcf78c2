package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/gpu/gputest"
)

// A rack is a machine with four GPUs, of which a stranger (this very test)
// uses the third.
type rack struct {
	*testing.T
	bin   string // has muster and nvidia-smi
	uuids []string
}

func newRack(t *testing.T) *rack {
	if _, err := os.Stat("/dev/nvidiactl"); err == nil {
		t.Skip("this machine has GPUs of its own, which the stand-ins would not hide")
	}
	needs.Program(t, "awk")
	r := &rack{T: t, bin: t.TempDir()}
	var state strings.Builder
	for i := range 4 {
		r.uuids = append(r.uuids, "GPU-"+rand.Text()) // locks are the machine's: no two tests may share a name
		used := 0
		if i == 2 {
			used = 12000
		}
		fmt.Fprintf(&state, "device %d %s NVIDIA_A100-SXM4-40GB 40960 %d\n", i, r.uuids[i], used)
	}
	fmt.Fprintf(&state, "process 2 %d 12000\n", os.Getpid())
	smi, _ := gputest.SMI(t, state.String())
	// Providers get no variable of the test's: the stand-in brings its own.
	program.Write(t, filepath.Join(r.bin, "nvidia-smi"), fmt.Sprintf("#!/bin/sh\n%s='%s' exec '%s' \"$@\"\n", gputest.Env, os.Getenv(gputest.Env), smi))
	self, err := os.Executable()
	r.must(err)
	r.must(os.Symlink(self, filepath.Join(r.bin, "muster")))
	return r
}

func (r *rack) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// A person is a campaign with a queue of its own.
type person struct {
	*rack
	dir, spool string
}

func (r *rack) person(campaign string) *person {
	r.Helper()
	dir, err := os.MkdirTemp("", "mg") // sockets want short paths
	r.must(err)
	u := &person{rack: r, dir: dir, spool: filepath.Join(dir, ".spool")}
	r.must(os.WriteFile(filepath.Join(dir, "campaign.muster.hcl"), []byte(campaign), 0o644))
	r.Cleanup(func() {
		u.touch("go")
		u.killQueue()
		_ = os.RemoveAll(dir)
	})
	return u
}

func (u *person) muster(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(u.bin, "muster"), args...)
	cmd.Dir = u.dir
	cmd.Env = []string{"PATH=" + u.bin + ":" + os.Getenv("PATH"), "HOME=" + u.dir, "USER=ada", "LANG=C.UTF-8", "CI=true", "MUSTER_TRUST=1",
		"MUSTER_SPOOL=" + u.spool, "MUSTER_QUEUE_IDLE=200ms"}
	return cmd
}

// said runs muster and returns its output.
func (u *person) said(args ...string) string {
	u.Helper()
	out, err := u.muster(args...).CombinedOutput()
	if err != nil {
		u.Fatalf("muster %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// applying starts an apply; wait for it with what is returned.
func (u *person) applying() (done func()) {
	u.Helper()
	cmd := u.muster("apply", "-auto-approve")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	u.must(cmd.Start())
	u.Cleanup(func() { _ = cmd.Process.Kill() })
	return func() {
		u.Helper()
		if err := cmd.Wait(); err != nil {
			u.Fatalf("apply: %v\n%s", err, &out)
		}
	}
}

func (u *person) touch(name string) { _ = os.WriteFile(filepath.Join(u.dir, name), nil, 0o644) }

// killQueue kills this person's queue at once, and reports whether one ran.
func (u *person) killQueue() bool {
	b, err := os.ReadFile(filepath.Join(u.spool, "lock"))
	words := strings.Fields(string(b))
	if err != nil || len(words) == 0 { // a queue that starts has not written its name yet
		return false
	}
	pid, _ := strconv.Atoi(words[0])
	if args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); bytes.Contains(args, []byte("queue")) {
		return syscall.Kill(pid, syscall.SIGKILL) == nil
	}
	return false
}

// until waits for something that muster or a job brings about.
func (u *person) until(what string, done func() bool) {
	u.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			u.Fatalf("%s never came", what)
		}
	}
}

// A turn is one run of a job on a device.
type turn struct {
	device     string
	start, end int64
}

// turns reads the jobs' own record: DEVICE START END.
func (u *person) turns() (out []turn) {
	u.Helper()
	files, _ := filepath.Glob(filepath.Join(u.dir, "out", "*"))
	for _, f := range files {
		b, err := os.ReadFile(f)
		u.must(err)
		for line := range strings.Lines(string(b)) {
			var x turn
			if n, _ := fmt.Sscan(line, &x.device, &x.start, &x.end); n == 3 {
				out = append(out, x)
			}
		}
	}
	return out
}

// wantTurns wants so many runs, none on the stranger's device and no two at
// once on one.
func wantTurns(t *testing.T, n int, turns []turn) {
	t.Helper()
	if len(turns) != n {
		t.Errorf("%d runs, want %d", len(turns), n)
	}
	slices.SortFunc(turns, func(a, b turn) int { return int(a.start - b.start) })
	last := map[string]turn{}
	for _, x := range turns {
		if !slices.Contains([]string{"0", "1", "3"}, x.device) {
			t.Errorf("a job ran on device %q", x.device)
		}
		if before, ok := last[x.device]; ok && before.end > x.start {
			t.Errorf("two jobs at once on device %s: %v and %v", x.device, before, x)
		}
		last[x.device] = x
	}
	if len(last) != 3 {
		t.Errorf("%d devices were used, want 3", len(last))
	}
}

// gpuCampaign has n jobs of one GPU, each running a middle part.
func gpuCampaign(n int, middle, more string) string {
	return fmt.Sprintf(`campaign "gpus" {}
backend "local" "local" {
  cpus = 16
}
phase "p" {
  grid { axes = { i = range(%d) } }
  job {
    command = "start=$(date +%%s%%N); %s; echo $CUDA_VISIBLE_DEVICES $start $(date +%%s%%N) >> ${output.x}"
    resources {
      gpus     = 1
      walltime = "10m"
    }
    output "x" { path = "out/${cell.i}" }
  }
%s
}
`, n, middle, more)
}

// TestGPUsAreSharedByTwoUsers: two queues that know nothing of one another
// and a stranger on one machine.
func TestGPUsAreSharedByTwoUsers(t *testing.T) {
	// Requirement: WAV-03, WAV-04
	r := newRack(t)
	ada, bob := r.person(gpuCampaign(8, "sleep 0.2", "")), r.person(gpuCampaign(4, "sleep 0.2", ""))
	if plan := ada.said("plan"); !strings.Contains(plan, "3 of 4 GPUs free, 1 held by others") {
		t.Errorf("the plan does not tell of the GPUs:\n%s", plan)
	}
	waitAda, waitBob := ada.applying(), bob.applying()
	waitAda()
	waitBob()
	wantTurns(t, 12, append(ada.turns(), bob.turns()...))
}

// TestGPUsOutliveTheirQueue: who waits is told for whom, and the device of a
// running job stays its own while its queue is killed.
func TestGPUsOutliveTheirQueue(t *testing.T) {
	r := newRack(t)
	u := r.person(gpuCampaign(5, "touch begun.${cell.i}; while [ ! -e go ]; do sleep 0.1; done", ""))
	wait := u.applying()
	u.until("three running jobs", func() bool {
		begun, _ := filepath.Glob(filepath.Join(u.dir, "begun.*"))
		return len(begun) == 3
	})
	holder := fmt.Sprintf("(pid %d)", os.Getpid())
	u.until("the reason of waiting", func() bool {
		status := u.said("status")
		return strings.Contains(status, "GPU 2 is in use by ") && strings.Contains(status, holder)
	})
	for range 2 {
		u.until("a queue to kill", u.killQueue)
		for _, i := range []int{0, 1, 3} {
			if f, err := gpu.Lock(u.uuids[i]); !errors.Is(err, gpu.ErrHeld) {
				t.Errorf("GPU %d is not held by its job: %v", i, err)
				_ = f.Close()
			}
		}
		time.Sleep(100 * time.Millisecond) // for the next queue to take over, or not
	}
	u.touch("go")
	wait()
	wantTurns(t, 5, u.turns())
}

// TestGPUAfterOOMIsAnother: a retry takes another device first.
func TestGPUAfterOOMIsAnother(t *testing.T) {
	r := newRack(t)
	u := r.person(gpuCampaign(1, "echo $CUDA_VISIBLE_DEVICES >> devices; [ $MUSTER_ATTEMPT -gt 2 ] || { echo 'torch.OutOfMemoryError: CUDA out of memory.' >&2; exit 1; }",
		"  retry {\n    on = [\"oom\"]\n    max_attempts = 3\n  }\n"))
	u.applying()()
	b, err := os.ReadFile(filepath.Join(u.dir, "devices"))
	u.must(err)
	got := strings.Fields(string(b))
	slices.Sort(got)
	if !slices.Equal(got, []string{"0", "1", "3"}) {
		t.Errorf("it ran on %q, want each device once", got)
	}
	if show := u.said("state", "show", "i=0"); !strings.Contains(show, "oom_gpu") {
		t.Errorf("the class is not told:\n%s", show)
	}
}
