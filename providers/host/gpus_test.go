package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/gpu"
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
func inside(t *testing.T, r gpu.Reader) (*queue, Place) {
	dir := t.TempDir()
	q, err := load(filepath.Join(dir, "s"), r)
	if errors.Is(err, os.ErrNotExist) {
		os.MkdirAll(filepath.Join(dir, "s"), 0o700)
		q, err = load(filepath.Join(dir, "s"), r)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { q.run(ctx); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	return q, Place{Lineage: "l", Backend: "local.local", Workdir: filepath.Join(dir), CPUs: 8}
}

func twoGPUs(id string) *bench {
	return &bench{list: []gpu.Device{
		{Index: 0, UUID: "GPU-test-0-" + id, Name: "NVIDIA A100", Model: "A100", Memory: 40 << 30, Healthy: true},
		{Index: 1, UUID: "GPU-test-1-" + id, Name: "NVIDIA A100", Model: "A100", Memory: 40 << 30, Healthy: true},
	}}
}

func submitInside(t *testing.T, q *queue, p Place, jobs ...providers.Job) {
	t.Helper()
	s := submission{Place: p, Fence: 1, Environ: testEnviron}
	for _, j := range jobs {
		s.Jobs = append(s.Jobs, mustJSON(t, j))
	}
	out, err := q.submit(context.Background(), s)
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
	for range 2000 {
		q.do(context.Background(), func() { o = q.lookUp(token) })
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

func gpuJob(p Place, command string) providers.Job {
	return providers.Job{Token: token(), Phase: "p", Shell: command, Workdir: p.Workdir, Dir: p.Workdir, Grace: time.Second,
		Shape: offer.Shape{CPUs: 1, GPUs: 1}}
}

func TestGPUsAreHeldMachineWide(t *testing.T) {
	b := twoGPUs(token())
	q, p := inside(t, b)
	lock, err := gpu.Lock(b.list[0].UUID) // another user's queue
	if err != nil {
		t.Fatal(err)
	}
	first := gpuJob(p, `echo "$CUDA_VISIBLE_DEVICES" > dev; while [ ! -e go ]; do sleep 0.02; done`)
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

func TestStrangersAreWaitedFor(t *testing.T) {
	b := twoGPUs(token())
	b.list = b.list[:1]
	b.list[0].Used = 12 << 30
	b.list[0].Processes = []gpu.Process{{PID: 4711, User: "alice"}}
	q, p := inside(t, b)
	j := gpuJob(p, "true")
	submitInside(t, q, p, j)
	o := eventually(t, q, j.Token, func(o offer.Observation) bool { return strings.Contains(o.Reason, "alice (pid 4711)") })
	if o.Status != offer.Queued {
		t.Errorf("%+v", o)
	}
	b.set(func(l []gpu.Device) { l[0].Used = 10 << 20 })
	eventually(t, q, j.Token, is(offer.Completed))
}

func TestAnotherGPUAfterOOM(t *testing.T) {
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
	b := twoGPUs(token())
	b.list = b.list[:1]
	q, p := inside(t, b)
	first, second := gpuJob(p, "sleep 0.3"), gpuJob(p, "echo ran > second")
	submitInside(t, q, p, first, second)
	eventually(t, q, first.Token, is(offer.Running))
	b.set(func(l []gpu.Device) { l[0].Used = 30 << 30 }) // does not go away with the job
	eventually(t, q, first.Token, is(offer.Completed))
	eventually(t, q, second.Token, func(o offer.Observation) bool { return strings.Contains(o.Reason, "in use: 30720 MiB") })
	b.set(func(l []gpu.Device) { l[0].Used = 0 })
	eventually(t, q, second.Token, is(offer.Completed))
}
