package queue

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/offer"
)

// on starts a job that says the pid of its program, and waits for it.
func on(t *testing.T, q *queue, p machine.Tenant, gpus int) (j providers.Job, pid string) {
	t.Helper()
	q.do(t.Context(), func() { q.allocator.devices.Rest = 0 }) // the stand-in for nvidia-smi takes long where much else runs
	j = gpuJob(p, "echo $$ > pid.new; mv pid.new $MUSTER_TOKEN.pid; while [ ! -e $MUSTER_TOKEN.go ]; do sleep 0.1; done")
	j.Shape.GPUs = gpus
	submitInside(t, q, p, j)
	eventually(t, q, j.Token, func(offer.Observation) bool {
		b, _ := os.ReadFile(filepath.Join(p.Workdir, j.Token+".pid"))
		pid = strings.TrimSpace(string(b))
		return pid != ""
	})
	return j, pid
}

// looked waits until a job has been looked at so often that something told.
func looked(t *testing.T, q *queue, token string, times int) {
	t.Helper()
	for range 6000 {
		n := 0
		q.do(context.Background(), func() { n = q.jobs[token].use.Looks })
		if n >= times {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("not looked at %d times", times)
}

// end ends a job of on, and gives what it used.
func end(t *testing.T, q *queue, p machine.Tenant, j providers.Job) *offer.Usage {
	t.Helper()
	// However long its end takes here, it is soon after the last look.
	q.do(t.Context(), func() { q.jobs[j.Token].Launch.Up -= int64(time.Hour) })
	if err := os.WriteFile(filepath.Join(p.Workdir, j.Token+".go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := eventually(t, q, j.Token, is(offer.Completed))
	if o.Usage == nil {
		t.Fatalf("no usage: %+v", o)
	}
	return o.Usage
}

// most is a job's largest use of one device, bytes; -1 = unknown.
func most(u *offer.Usage) int64 {
	if u.GPUMaxMem == nil {
		return -1
	}
	return *u.GPUMaxMem
}

// What a job had in use of its devices is its own processes' alone, and the
// most on one of them.
func TestGPUUse(t *testing.T) {
	state, _ := idleGPUs(3)
	stranger := exec.Command("sleep", "1000")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stranger.Process.Kill(); stranger.Wait() })
	onStandIns(t, state, func(t *testing.T, r gpu.Reader, set func(string)) {
		q, p := inside(t, r)
		two, pid := on(t, q, p, 2)
		none, _ := on(t, q, p, 1)
		other := fmt.Sprintf("process 1 %d 30000\n", stranger.Process.Pid)
		set(using(using(state, 0, 4200), 1, 36000) + "process 0 " + pid + " 4096\nprocess 1 " + pid + " 5000\n" + other)
		looked(t, q, two.Token, 1)
		q.do(t.Context(), func() { q.jobs[two.Token].use.Looks = 0 })
		looked(t, q, two.Token, 1) // begun after the state was set
		if got := most(end(t, q, p, two)); got != 5000<<20 {
			t.Errorf("two devices: %d bytes, want 5000 MiB", got)
		}
		looked(t, q, none.Token, gpu.UseNone)
		if got := most(end(t, q, p, none)); got != 0 {
			t.Errorf("nothing on it: %d", got)
		}
	})
}

// What is on another slice of the same device is not the job's.
func TestGPUUseOfASlice(t *testing.T) {
	state := fmt.Sprintf("device 0 GPU-%s NVIDIA_A100-SXM4-40GB 40960 0\nslice 0 MIG-%s 20096 0\nslice 0 MIG-%s 20096 0\n", token(), token(), token())
	onStandIns(t, state, func(t *testing.T, r gpu.Reader, set func(string)) {
		q, p := inside(t, r)
		a, first := on(t, q, p, 1)
		b, second := on(t, q, p, 1)
		lines := strings.Split(strings.TrimSpace(state), "\n")
		set(lines[0] + "\n" + strings.TrimSuffix(lines[1], " 0") + " 3000\n" + strings.TrimSuffix(lines[2], " 0") + " 9000\n" +
			"process 0 " + first + " 2900 0\nprocess 0 " + second + " 8900 1\n")
		for i, j := range []providers.Job{a, b} {
			q.do(t.Context(), func() { q.jobs[j.Token].use.Looks = 0 })
			looked(t, q, j.Token, 2)
			if got, want := most(end(t, q, p, j)), []int64{2900, 8900}[i]; got != want<<20 {
				t.Errorf("slice %d: %d bytes, want %d MiB", i, got, want)
			}
		}
	})
}

// Nobody is said to have used nothing of whom too little was seen.
func TestGPUUseUnknown(t *testing.T) {
	b := twoGPUs(token())
	q, p := inside(t, b)
	short := gpuJob(p, "true")
	submitInside(t, q, p, short)
	if o := eventually(t, q, short.Token, is(offer.Completed)); o.Usage.GPUMaxMem != nil || o.Usage.GPUSeconds <= 0 {
		t.Errorf("a short job: %+v", o.Usage)
	}
	hidden, _ := on(t, q, p, 1)
	b.set(func(l []gpu.Device) { l[0].Used, l[1].Used = 30<<30, 30<<30 }) // of a process that the driver does not name
	for q.do(t.Context(), func() {}); ; time.Sleep(10 * time.Millisecond) {
		var at time.Duration
		q.do(t.Context(), func() { at = q.jobs[hidden.Token].use.Looked })
		if at != 0 {
			break
		}
	}
	if got := most(end(t, q, p, hidden)); got != -1 {
		t.Errorf("nobody is named: %d", got)
	}
	plain := gpuJob(p, "true")
	plain.Shape.GPUs = 0
	submitInside(t, q, p, plain)
	if o := eventually(t, q, plain.Token, is(offer.Completed)); o.Usage.GPUMaxMem != nil {
		t.Errorf("without a GPU: %+v", o.Usage)
	}
}

// A stall shows how busy the job's own GPUs are, also once another queue has taken the job
// over.
func TestStalledShowsGPUs(t *testing.T) {
	state, _ := idleGPUs(3)
	onStandIns(t, state+"busy 0 100\nbusy 1 97\nbusy 2 3\n", func(t *testing.T, r gpu.Reader, set func(string)) {
		dir := t.TempDir()
		q, p, stop := served(t, dir, r)
		two, one, none := gpuJob(p, "exec sleep 600"), gpuJob(p, "exec sleep 600"), gpuJob(p, "exec sleep 600")
		two.Shape.GPUs, none.Shape.GPUs = 2, 0
		stalls := func(when string) {
			t.Helper()
			q.do(t.Context(), func() { q.allocator.devices.Rest = 0 })
			for token, want := range map[string]string{two.Token: ", GPUs 97–100 % busy", one.Token: ", GPU 3 % busy", none.Token: " cores busy"} {
				o := eventually(t, q, token, func(o offer.Observation) bool { return strings.HasPrefix(o.Reason, "stalled: ") })
				if !strings.HasSuffix(o.Reason, want) || strings.Contains(o.Reason, "GPU") != (token != none.Token) {
					t.Errorf("%s: %q, want %q", when, o.Reason, want)
				}
			}
		}
		for _, j := range []*providers.Job{&two, &one, &none} {
			j.Watch = providers.Watch{StalledAfter: 8 * time.Second}
			submitInside(t, q, p, *j)
			eventually(t, q, j.Token, is(offer.Running))
		}
		stalls("its own")
		stop()
		q, _, _ = served(t, dir, r)
		stalls("adopted")
		for _, token := range []string{two.Token, one.Token, none.Token} {
			q.do(t.Context(), func() { q.attempts.cancelOne(token, 0) })
			eventually(t, q, token, ended)
		}
	})
}
