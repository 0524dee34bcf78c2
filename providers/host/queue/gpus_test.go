package queue

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/gpu/gputest"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/host/wire"
	"github.com/muster-run/muster/providers/offer"
)

// bench is a machine with GPUs of which a test says how they are.
type bench struct {
	mu   sync.Mutex
	list []gpu.Device
	err  error
}

func (b *bench) Devices(context.Context) ([]gpu.Device, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]gpu.Device(nil), b.list...), b.err
}
func (b *bench) Close() error { return nil }

func (b *bench) set(fn func([]gpu.Device)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fn(b.list)
}

// inside runs a queue in this process, so that its GPUs can be stood in for.
func inside(t *testing.T, r gpu.Reader) (*queue, machine.Tenant) {
	q, p, _ := served(t, t.TempDir(), r)
	return q, p
}

// served runs the queue of a folder in this process, until it is stopped.
func served(t *testing.T, dir string, r gpu.Reader) (*queue, machine.Tenant, func()) {
	q, err := load(filepath.Join(dir, "s"), r)
	if errors.Is(err, os.ErrNotExist) {
		os.MkdirAll(filepath.Join(dir, "s"), 0o700)
		q, err = load(filepath.Join(dir, "s"), r)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { q.run(ctx); close(ended) }()
	stop := func() { cancel(); <-ended }
	t.Cleanup(stop)
	return q, machine.Tenant{Lineage: "l", Backend: "local.local", Workdir: filepath.Join(dir), Settings: machine.Settings{CPUs: 8}}, stop
}

func twoGPUs(id string) *bench {
	return &bench{list: []gpu.Device{
		{Index: 0, UUID: "GPU-test-0-" + id, Name: "NVIDIA A100", Model: "A100", Memory: 40 << 30, Healthy: true},
		{Index: 1, UUID: "GPU-test-1-" + id, Name: "NVIDIA A100", Model: "A100", Memory: 40 << 30, Healthy: true},
	}}
}

func submitInside(t *testing.T, q *queue, p machine.Tenant, jobs ...providers.Job) {
	t.Helper()
	s := wire.Submission{Place: p, Fence: 1, Environ: testEnviron}
	for _, j := range jobs {
		spec, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		s.Jobs = append(s.Jobs, spec)
	}
	out, err := q.submissions.submit(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range out {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
}

// eventually waits for a condition on what a token was last seen as.
func eventually(t *testing.T, q *queue, token string, ok func(offer.Observation) bool) offer.Observation {
	t.Helper()
	var o offer.Observation
	for range 6000 {
		q.do(context.Background(), func() { o = q.requests.lookUp(token) })
		if ok(o) {
			return o
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("never came: %+v", o)
	return o
}

func is(s offer.Status) func(offer.Observation) bool {
	return func(o offer.Observation) bool { return o.Status == s }
}

func gpuJob(p machine.Tenant, command string) providers.Job {
	return providers.Job{Token: token(), Phase: "p", Shell: command, Workdir: p.Workdir, Dir: p.Workdir, Grace: time.Second,
		Shape: offer.Shape{CPUs: 1, GPUs: 1}}
}

func token() string { return rand.Text() }

var testEnviron = []providers.EnvVar{{Name: "PATH", Value: os.Getenv("PATH")}}

func TestGPUsAreHeldMachineWide(t *testing.T) {
	// Requirement: SCR-02
	b := twoGPUs(token())
	q, p := inside(t, b)
	lock, err := gpu.Lock(b.list[0].UUID) // another user's queue
	if err != nil {
		t.Fatal(err)
	}
	first := gpuJob(p, `echo "$CUDA_VISIBLE_DEVICES" > dev; while [ ! -e go ]; do sleep 0.1; done`)
	second := gpuJob(p, "true")
	submitInside(t, q, p, first, second)
	if o := eventually(t, q, first.Token, is(offer.Running)); len(o.GPUs) != 1 || o.GPUs[0] != "1" {
		t.Errorf("runs on %v", o.GPUs)
	}
	// The job itself holds the lock: not even its queue gets the device.
	if f, err := gpu.Lock(b.list[1].UUID); !errors.Is(err, gpu.ErrHeld) {
		f.Close()
		t.Errorf("the job does not hold its GPU: %v", err)
	}
	o := eventually(t, q, second.Token, func(o offer.Observation) bool { return strings.Contains(o.Reason, "another muster") })
	if who := fmt.Sprintf("pid %d)", os.Getpid()); !strings.Contains(o.Reason, who) {
		t.Errorf("waits for %q, want %q", o.Reason, who)
	}
	if o.Status != offer.Queued {
		t.Errorf("%+v", o)
	}
	lock.Close()
	eventually(t, q, second.Token, is(offer.Completed))
	os.WriteFile(filepath.Join(p.Workdir, "go"), nil, 0o644)
	eventually(t, q, first.Token, is(offer.Completed))
	if got, _ := os.ReadFile(filepath.Join(p.Workdir, "dev")); string(got) != "1\n" {
		t.Errorf("CUDA_VISIBLE_DEVICES was %q", got)
	}
}

// One GPU job a GPU and one job a core, however few cores there are.
func TestGPUJobsDoNotWaitForCores(t *testing.T) {
	q, p := inside(t, twoGPUs(token()))
	p.CPUs = 1
	wait := "while [ ! -e go ]; do sleep 0.1; done"
	first, second, third := gpuJob(p, wait), gpuJob(p, wait), gpuJob(p, wait)
	third.Shape.GPUs = 0
	submitInside(t, q, p, first, second, third)
	for _, j := range []providers.Job{first, second, third} {
		eventually(t, q, j.Token, is(offer.Running))
	}
	os.WriteFile(filepath.Join(p.Workdir, "go"), nil, 0o644)
	for _, j := range []providers.Job{first, second, third} {
		eventually(t, q, j.Token, is(offer.Completed))
	}
}

// TestAnotherGPUAfterOOMWhenItIsFree: a retry waits for a device that a job of
// ours has, rather than go back to the one that failed it.
func TestAnotherGPUAfterOOMWhenItIsFree(t *testing.T) {
	b := twoGPUs(token())
	q, p := inside(t, b)
	long := gpuJob(p, `touch began; while [ ! -e go ]; do sleep 0.1; done`)
	j := gpuJob(p, `echo "$CUDA_VISIBLE_DEVICES" >> dev; test $(wc -l < dev) = 2 || { while [ ! -e began ]; do sleep 0.1; done; echo 'CUDA out of memory' >&2; exit 1; }`)
	j.Retry = providers.Retry{On: []string{"oom_gpu"}, Max: 2}
	submitInside(t, q, p, j, long)
	eventually(t, q, j.Token, func(o offer.Observation) bool { return strings.HasPrefix(o.Reason, "it failed on GPU 0") })
	os.WriteFile(filepath.Join(p.Workdir, "go"), nil, 0o644)
	eventually(t, q, j.Token, is(offer.Completed))
	if got, _ := os.ReadFile(filepath.Join(p.Workdir, "dev")); string(got) != "0\n1\n" {
		t.Errorf("it ran on %q", got)
	}
}

func TestAnotherGPUAfterOOM(t *testing.T) {
	// Requirement: OOM-03
	b := twoGPUs(token())
	q, p := inside(t, b)
	j := gpuJob(p, `echo "$CUDA_VISIBLE_DEVICES" >> devs; [ "$MUSTER_RESTART" = 1 ] || { echo "CUDA out of memory" >&2; exit 1; }`)
	j.Retry = providers.Retry{On: []string{"oom_gpu"}, Max: 2}
	submitInside(t, q, p, j)
	if o := eventually(t, q, j.Token, func(o offer.Observation) bool { return o.Status == offer.Completed || o.Status == offer.Failed }); o.Status != offer.Completed {
		t.Fatalf("%+v", o)
	}
	if got, _ := os.ReadFile(filepath.Join(p.Workdir, "devs")); string(got) != "0\n1\n" {
		t.Errorf("ran on %q", got)
	}
}

func TestGPUMemoryMustSettle(t *testing.T) {
	// Requirement: WAV-01, WAV-02
	b := twoGPUs(token())
	b.list = b.list[:1]
	q, p := inside(t, b)
	first, second := gpuJob(p, "sleep 0.3"), gpuJob(p, "echo ran > second")
	submitInside(t, q, p, first, second)
	eventually(t, q, first.Token, is(offer.Running))
	b.set(func(l []gpu.Device) { l[0].Used = 30 << 30 }) // does not go away with the job
	eventually(t, q, first.Token, is(offer.Completed))
	eventually(t, q, second.Token, func(o offer.Observation) bool { return strings.Contains(o.Reason, "GPU 0 has 30720 MiB in use") })
	b.set(func(l []gpu.Device) { l[0].Used = 0 })
	eventually(t, q, second.Token, is(offer.Completed))
}

// onStandIns runs a test with devices read through nvidia-smi, and through
// NVML.
func onStandIns(t *testing.T, state string, test func(t *testing.T, r gpu.Reader, set func(string))) {
	t.Run("nvidia-smi", func(t *testing.T) {
		needs.Program(t, "awk")
		path, set := gputest.SMI(t, state)
		test(t, gpu.OpenSMI(path), set)
	})
	t.Run("NVML", func(t *testing.T) {
		path, set := gputest.Library(t, state)
		r, err := gpu.OpenNVML(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		test(t, r, set)
	})
}

// idleGPUs are so many idle A100 as the stand-ins take them, of names of their own.
func idleGPUs(n int) (state string, uuids []string) {
	for i := range n {
		uuids = append(uuids, "GPU-"+token())
		state += fmt.Sprintf("device %d %s NVIDIA_A100-SXM4-40GB 40960 0\n", i, uuids[i])
	}
	return state, uuids
}

// using is a state with so many MiB in use on a device.
func using(state string, device, mib int) string {
	lines := strings.Split(state, "\n")
	lines[device] = strings.TrimSuffix(lines[device], " 0") + " " + strconv.Itoa(mib)
	return strings.Join(lines, "\n")
}

// A stranger's process is waited for and never touched; who waits says for whom.
func TestStrangersAreWaitedFor(t *testing.T) {
	// Requirement: WAV-04
	state, _ := idleGPUs(1)
	stranger := exec.Command("sleep", "1000")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stranger.Process.Kill(); stranger.Wait() })
	taken := using(state, 0, 12000) + fmt.Sprintf("process 0 %d 11900\n", stranger.Process.Pid)
	onStandIns(t, taken, func(t *testing.T, r gpu.Reader, set func(string)) {
		q, p := inside(t, r)
		j := gpuJob(p, "true")
		submitInside(t, q, p, j)
		me, _ := user.Current()
		want := fmt.Sprintf("GPU 0 is in use by %s (pid %d): sleep, 11900 MiB", me.Username, stranger.Process.Pid)
		o := eventually(t, q, j.Token, func(o offer.Observation) bool { return o.Reason == want })
		if o.Status != offer.Queued {
			t.Errorf("%+v", o)
		}
		if told := reasons(q, p); !slices.Contains(told, want) {
			t.Errorf("watchers were told %q", told)
		}
		set(state)
		eventually(t, q, j.Token, is(offer.Completed))
		if err := stranger.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("the stranger: %v", err)
		}
	})
}

// reasons are those of the events that watchers have been told.
func reasons(q *queue, p machine.Tenant) (list []string) {
	q.do(context.Background(), func() {
		for _, e := range q.places[key(p)].events {
			if e.note == nil && e.obs.Reason != "" {
				list = append(list, e.obs.Reason)
			}
		}
	})
	return list
}

// Figures that change by themselves are no news.
func TestAStrangersMemoryIsToldOnce(t *testing.T) {
	b := twoGPUs(token())
	b.list = b.list[:1]
	b.list[0].Used, b.list[0].Processes = 12<<30, []gpu.Process{{PID: 4711, User: "alice", Used: 12 << 30}}
	q, p := inside(t, b)
	j := gpuJob(p, "true")
	submitInside(t, q, p, j)
	for i := range int64(3) {
		b.set(func(l []gpu.Device) { l[0].Processes = []gpu.Process{{PID: 4711, User: "alice", Used: (13 + i) << 30}} })
		q.do(t.Context(), func() { q.allocator.devices.Release(nil) })
		eventually(t, q, j.Token, func(o offer.Observation) bool { return strings.Contains(o.Reason, fmt.Sprintf("%d MiB", (13+i)<<10)) })
	}
	if told := reasons(q, p); len(told) != 1 {
		t.Errorf("told %d times: %q", len(told), told)
	}
	b.set(func(l []gpu.Device) { l[0].Processes = []gpu.Process{{PID: 4712, User: "bob", Used: 13 << 30}} })
	q.do(t.Context(), func() { q.allocator.devices.Release(nil) })
	eventually(t, q, j.Token, func(o offer.Observation) bool { return strings.Contains(o.Reason, "bob") })
	if told := reasons(q, p); len(told) != 2 {
		t.Errorf("another holder is news: %q", told)
	}
}

// Memory that nothing accounts for is waited out and told as such.
func TestZombieHolder(t *testing.T) {
	state, _ := idleGPUs(2)
	onStandIns(t, using(state, 0, 9000), func(t *testing.T, r gpu.Reader, set func(string)) {
		q, p := inside(t, r)
		p.GPUs = gpu.Selection{"0"}
		j := gpuJob(p, "true")
		submitInside(t, q, p, j)
		eventually(t, q, j.Token, func(o offer.Observation) bool {
			return strings.Contains(o.Reason, "GPU 0 has 9000 MiB in use by no process that can be seen")
		})
		set(state)
		eventually(t, q, j.Token, is(offer.Completed))
	})
}

// A backend's gpus names devices by UUID or by index, and no others are used.
func TestSelectedGPUs(t *testing.T) {
	state, uuids := idleGPUs(3)
	onStandIns(t, state, func(t *testing.T, r gpu.Reader, _ func(string)) {
		for name, c := range map[string]struct {
			gpus gpu.Selection
			want string
		}{
			"by index":           {gpu.Selection{"2"}, "2\n"},
			"by UUID":            {gpu.Selection{uuids[1]}, "1\n"},
			"by a shortened one": {gpu.Selection{uuids[1][:20]}, "1\n"},
		} {
			q, p := inside(t, r)
			p.GPUs = c.gpus
			j := gpuJob(p, `echo "$CUDA_VISIBLE_DEVICES" > dev`)
			submitInside(t, q, p, j)
			eventually(t, q, j.Token, is(offer.Completed))
			if got, _ := os.ReadFile(filepath.Join(p.Workdir, "dev")); string(got) != c.want {
				t.Errorf("%s: ran on %q", name, got)
			}
		}
	})
}

// A job of several devices gets them all at once, or none.
func TestSeveralGPUs(t *testing.T) {
	state, uuids := idleGPUs(3)
	onStandIns(t, using(state, 1, 12000), func(t *testing.T, r gpu.Reader, set func(string)) {
		q, p := inside(t, r)
		three := gpuJob(p, `echo "$CUDA_VISIBLE_DEVICES" > dev`)
		three.Shape.GPUs = 3
		submitInside(t, q, p, three)
		eventually(t, q, three.Token, func(o offer.Observation) bool {
			return strings.HasPrefix(o.Reason, "2 of 3 GPUs are free; GPU 1 has 12000 MiB")
		})
		for _, u := range []string{uuids[0], uuids[2]} { // others could have them
			f, err := gpu.Lock(u)
			if err != nil {
				t.Error(err)
			}
			f.Close()
		}
		set(state)
		eventually(t, q, three.Token, is(offer.Completed))
		if got, _ := os.ReadFile(filepath.Join(p.Workdir, "dev")); string(got) != "0,1,2\n" {
			t.Errorf("ran on %q", got)
		}
		four := gpuJob(p, "true")
		four.Shape.GPUs = 4
		submitInside(t, q, p, four)
		eventually(t, q, four.Token, func(o offer.Observation) bool {
			return strings.Contains(o.Reason, "has 3 GPUs that suit, and the job asks for 4")
		})
	})
}

// Only devices of enough memory, and of a model that was asked for, are given out.
func TestSuitableGPUs(t *testing.T) {
	state := fmt.Sprintf("device 0 GPU-%s Tesla_V100-SXM2-16GB 16160 0\ndevice 1 GPU-%s NVIDIA_A100-SXM4-40GB 40960 0\ndevice 2 GPU-%s NVIDIA_A100-SXM4-80GB 81920 0\n",
		token(), token(), token())
	onStandIns(t, state, func(t *testing.T, r gpu.Reader, _ func(string)) {
		q, p := inside(t, r)
		for want, c := range map[string]offer.GPU{"0": {}, "1": {Models: []string{"A100"}}, "2": {Memory: 60 << 30}} {
			j := gpuJob(p, `echo "$CUDA_VISIBLE_DEVICES" > dev`)
			j.Shape.GPU = c
			submitInside(t, q, p, j)
			eventually(t, q, j.Token, is(offer.Completed))
			if got, _ := os.ReadFile(filepath.Join(p.Workdir, "dev")); string(got) != want+"\n" {
				t.Errorf("%+v ran on %q, want %s", c, got, want)
			}
		}
	})
}

// A slice is a device of its own, by UUID; one that is in use is not given
// out, and a job of two devices gets no slices.
func TestSlices(t *testing.T) {
	parent, a, b := "GPU-"+token(), "MIG-"+token(), "MIG-"+token()
	state := fmt.Sprintf("device 0 %s NVIDIA_A100-SXM4-40GB 40960 0\nslice 0 %s 20096 9000\nslice 0 %s 20096 0\n", parent, a, b)
	onStandIns(t, state, func(t *testing.T, r gpu.Reader, _ func(string)) {
		q, p := inside(t, r)
		j := gpuJob(p, `echo "$CUDA_VISIBLE_DEVICES" > dev`)
		submitInside(t, q, p, j)
		eventually(t, q, j.Token, is(offer.Completed))
		if got, _ := os.ReadFile(filepath.Join(p.Workdir, "dev")); string(got) != b+"\n" {
			t.Errorf("ran on %q, want %s", got, b)
		}
		two := gpuJob(p, "true")
		two.Shape.GPUs = 2
		submitInside(t, q, p, two)
		eventually(t, q, two.Token, func(o offer.Observation) bool { return strings.Contains(o.Reason, "has 0 GPUs that suit") })
	})
}

// A job that has waited long for GPUs holds up others that would take one,
// and nothing else: least of all while a stranger has them.
func TestLongWaitForGPUs(t *testing.T) {
	b := twoGPUs(token())
	q, p := inside(t, b)
	q.do(t.Context(), func() { q.scheduler.starved = 0 })
	first := gpuJob(p, "while [ ! -e go ]; do sleep 0.1; done")
	submitInside(t, q, p, first)
	eventually(t, q, first.Token, is(offer.Running))
	both := gpuJob(p, "echo both >> order")
	both.Shape.GPUs, both.Shape.CPUs = 2, 4
	submitInside(t, q, p, both)
	eventually(t, q, both.Token, func(o offer.Observation) bool { return strings.Contains(o.Reason, "our own jobs run on GPU") })
	plain := gpuJob(p, "true")
	plain.Shape.GPUs = 0
	late := gpuJob(p, "echo late >> order")
	submitInside(t, q, p, late, plain)
	eventually(t, q, plain.Token, is(offer.Completed))
	eventually(t, q, late.Token, func(o offer.Observation) bool { return o.Reason == "a larger job is next" })
	os.WriteFile(filepath.Join(p.Workdir, "go"), nil, 0o644)
	eventually(t, q, late.Token, is(offer.Completed))
	if got, _ := os.ReadFile(filepath.Join(p.Workdir, "order")); string(got) != "both\nlate\n" {
		t.Errorf("order: %q", got)
	}

	b.set(func(l []gpu.Device) { l[0].Used = 12 << 30 })
	again := gpuJob(p, "true")
	again.Shape.GPUs = 2
	submitInside(t, q, p, again)
	eventually(t, q, again.Token, func(o offer.Observation) bool { return strings.Contains(o.Reason, "12288 MiB") })
	one := gpuJob(p, "true")
	submitInside(t, q, p, one)
	eventually(t, q, one.Token, is(offer.Completed))
}

// A device stays a job's until nothing of the job is left and its outputs
// have been checked.
func TestGPUsSettle(t *testing.T) {
	// Requirement: WAV-01
	for name, c := range map[string]struct {
		command string
		check   string
	}{
		"a process lingers":         {`(trap '' TERM; while [ ! -e go ]; do sleep 0.1; done; echo settled >> order) & echo > out`, ""},
		"its outputs are checked":   {`echo > out`, `while [ ! -e go ]; do sleep 0.1; done; echo settled >> order`},
		"they are checked, in vain": {`echo > out`, `while [ ! -e go ]; do sleep 0.1; done; echo settled >> order; false`},
	} {
		t.Run(name, func(t *testing.T) {
			b := twoGPUs(token())
			b.list = b.list[:1]
			q, p := inside(t, b)
			first, second := gpuJob(p, c.command), gpuJob(p, "echo second >> order")
			first.Outputs = []providers.Output{{Name: "out", Kind: "path", Path: "out"}}
			if c.check != "" {
				first.Outputs[0].Verify = []providers.VerifyCheck{{Kind: "command", Command: c.check}}
			}
			submitInside(t, q, p, first, second)
			eventually(t, q, first.Token, is(offer.Verifying))
			q.do(t.Context(), func() { q.allocator.devices.Release(nil) }) // it is read again, and its memory is free
			if o := eventually(t, q, second.Token, func(o offer.Observation) bool { return o.Reason == "our own jobs run on GPU 0" }); o.Status != offer.Queued {
				t.Errorf("%+v", o)
			}
			os.WriteFile(filepath.Join(p.Workdir, "go"), nil, 0o644)
			eventually(t, q, second.Token, is(offer.Completed))
			if got, _ := os.ReadFile(filepath.Join(p.Workdir, "order")); string(got) != "settled\nsecond\n" {
				t.Errorf("order: %q", got)
			}
		})
	}
}

// A late is a bench whose readings come when the test says, as they were when
// they began.
type late struct {
	*bench
	begun, come chan struct{} // nil: at once
}

func (l *late) Devices(ctx context.Context) ([]gpu.Device, error) {
	list, err := l.bench.Devices(ctx)
	l.mu.Lock()
	begun, wait := l.begun, l.come
	l.begun = nil
	l.mu.Unlock()
	if begun != nil {
		close(begun)
		<-wait
	}
	return list, err
}

// A reading begun before a job ended says nothing of what it left behind.
func TestAReadingBegunBeforeTheEnd(t *testing.T) {
	b := &late{bench: twoGPUs(token())}
	b.list = b.list[:1]
	q, p := inside(t, b)
	first, second := gpuJob(p, "while [ ! -e go ]; do sleep 0.1; done"), gpuJob(p, "true")
	submitInside(t, q, p, first, second)
	eventually(t, q, first.Token, is(offer.Running))
	begun, wait := make(chan struct{}), make(chan struct{})
	b.set(func([]gpu.Device) { b.begun, b.come = begun, wait })
	<-begun // with its memory free
	b.set(func(l []gpu.Device) { l[0].Used = 30 << 30 })
	if err := os.WriteFile(filepath.Join(p.Workdir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, q, first.Token, is(offer.Completed))
	close(wait)
	eventually(t, q, second.Token, func(o offer.Observation) bool { return strings.Contains(o.Reason, "GPU 0 has 30720 MiB in use") })
	b.set(func(l []gpu.Device) { l[0].Used = 0 })
	eventually(t, q, second.Token, is(offer.Completed))
}
