//go:build cgo && linux

package gpu

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/providers/host/gpu/gputest"
)

const twoA100 = `device 0 GPU-aaaa NVIDIA_A100-SXM4-40GB 40960 3
device 1 GPU-bbbb NVIDIA_A100-SXM4-40GB 40960 12000
`

func openFake(t *testing.T, state string) (Reader, func(string)) {
	t.Helper()
	path, set := gputest.Library(t, state)
	r, err := OpenNVML(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r, set
}

func devices(t *testing.T, r Reader) []Device {
	t.Helper()
	list, err := r.Devices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestNVML(t *testing.T) {
	pid := strconv.Itoa(os.Getpid())
	r, set := openFake(t, twoA100+"process 1 "+pid+" 11000\n"+"process 1 999999999 500\n")
	me := owner(os.Getpid())
	want := []Device{
		{Index: 0, UUID: "GPU-aaaa", Name: "NVIDIA A100-SXM4-40GB", Model: "A100", Memory: 40 << 30, Used: 3 << 20, Healthy: true},
		{Index: 1, UUID: "GPU-bbbb", Name: "NVIDIA A100-SXM4-40GB", Model: "A100", Memory: 40 << 30, Used: 12000 << 20, Healthy: true,
			Processes: []Process{{PID: os.Getpid(), User: me, Command: filepath.Base(os.Args[0]), Used: 11000 << 20}, {PID: 999999999, Used: 500 << 20, Gone: true}}},
	}
	if diff := cmp.Diff(want, devices(t, r)); diff != "" {
		t.Errorf("at first (-want +got):\n%s", diff)
	}

	set(strings.Replace(twoA100, "12000", "0", 1))
	if got := devices(t, r)[1]; got.Used != 0 || len(got.Processes) != 0 {
		t.Errorf("after the job: %+v", got)
	}

	set(twoA100 + "slice 0 MIG-1 20096 10\nslice 0 MIG-2 20096 20\n")
	got := devices(t, r)
	if len(got) != 3 || !got[0].MIG || got[1].UUID != "MIG-2" || got[1].Parent != "GPU-aaaa" || got[1].Memory != 20096<<20 || got[2].MIG {
		t.Errorf("cut up: %+v", got)
	}

	set(twoA100 + "busy 0 0\nbusy 1 98\nslice 1 MIG-1 20096 10\n")
	if got := devices(t, r); got[0].Utilization == nil || *got[0].Utilization != 0 || got[1].Utilization != nil {
		t.Errorf("idle, and a slice of a busy device: %+v", got)
	}

	set(twoA100 + "xid 0 31\nxid 1 79\n")
	got = devices(t, r)
	if !got[0].Healthy || got[1].Healthy || !strings.Contains(got[1].Reason, "fallen off the bus") || len(got[0].Xid) != 1 {
		t.Errorf("after Xid 31 on 0 and 79 on 1: %+v", got)
	}

	set(twoA100 + "lost 1\n")
	got = devices(t, r)
	if len(got) != 2 || !got[0].Healthy || got[1].Healthy || got[1].Reason != "GPU is lost" {
		t.Errorf("1 is lost: %+v", got)
	}

	set("")
	if got := devices(t, r); len(got) != 0 {
		t.Errorf("no device: %+v", got)
	}
}

func TestNVMLHangs(t *testing.T) {
	r, set := openFake(t, twoA100)
	r.(*nvmlReader).limit = 50 * time.Millisecond
	set(twoA100 + "hang 2\n")
	for range 2 { // the second finds the first in the library
		if list, err := r.Devices(t.Context()); err == nil {
			t.Fatalf("a driver that hangs answers %+v", list)
		}
	}
	set(twoA100)
	r.(*nvmlReader).limit = 10 * time.Second
	if got := devices(t, r); len(got) != 2 {
		t.Errorf("once it answers again: %+v", got)
	}
}

func TestNVMLDoesNotStart(t *testing.T) {
	path, _ := gputest.Library(t, "init 4\n") // NO_PERMISSION
	if r, err := OpenNVML(path); err == nil {
		t.Fatalf("without permission there is a reader: %v", r)
	}
	if _, err := OpenNVML("/nonexistent/libnvidia-ml.so.1"); err != errNoNVML {
		t.Errorf("without a library: %v", err)
	}
}

// TestOpen finds the library as the loader does, and before nvidia-smi.
func TestOpen(t *testing.T) {
	path, _ := gputest.Library(t, twoA100)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), list+"=1", "LD_LIBRARY_PATH="+filepath.Dir(path))
	if out, err := cmd.Output(); string(out) != "*gpu.nvmlReader 2 <nil>" {
		t.Errorf("%s, %v", out, err)
	}
}

// TestRealDevices holds NVML, muster's program for it, and nvidia-smi to one another on a
// machine with GPUs.
func TestRealDevices(t *testing.T) {
	if !driverLoaded() {
		t.Skip("this machine has no NVIDIA GPU")
	}
	// The other tests' library has the same name, and a process loads one of a name.
	if alone := "MUSTER_TEST_REAL_NVML"; os.Getenv(alone) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRealDevices$", "-test.v")
		cmd.Env = append(os.Environ(), alone+"=1")
		out, err := cmd.CombinedOutput()
		if t.Log(string(out)); err != nil {
			t.Error(err)
		}
		return
	}
	direct, err := OpenNVML("")
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	t.Setenv(serving, "libnvidia-ml.so.1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	served, err := openProgram(text)
	if err != nil {
		t.Fatal(err)
	}
	defer served.Close()
	smi, err := exec.LookPath(smiName)
	if err != nil {
		t.Fatal(err)
	}
	want := devices(t, direct)
	if len(want) == 0 {
		t.Fatal("NVML finds no device, and the driver is loaded")
	}
	for name, r := range map[string]Reader{"the program": served, "nvidia-smi": OpenSMI(smi)} {
		got := devices(t, r)
		if len(got) != len(want) {
			t.Fatalf("%s finds %d devices, NVML %d", name, len(got), len(want))
		}
		for i, d := range got {
			w := want[i]
			t.Logf("%s: %+v", name, d)
			if d.ID() != w.ID() || d.Index != w.Index || d.Name != w.Name || d.Model != w.Model || d.Healthy != w.Healthy || len(d.Processes) != len(w.Processes) {
				t.Errorf("%s says %+v, NVML %+v", name, d, w)
			}
			if off := d.Memory - w.Memory; off < -1<<20 || off > 1<<20 { // nvidia-smi counts in MiB
				t.Errorf("%s says %d bytes of memory, NVML %d", name, d.Memory, w.Memory)
			}
		}
	}
}
