package gpu

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestOpeners: of a device whose memory nothing accounts for, the processes
// that have its file open are told, of others and of young ones nothing.
func TestOpeners(t *testing.T) {
	dir := t.TempDir()
	for uuid, minor := range map[string]int{"GPU-a": 3, "GPU-b": 0} {
		info := filepath.Join(dir, "proc/driver/nvidia/gpus", uuid, "information")
		if err := os.MkdirAll(filepath.Dir(info), 0o755); err != nil {
			t.Fatal(err)
		}
		text := "Model: \t\t NVIDIA A100-SXM4-40GB\nGPU UUID: \t " + uuid + "\nBus Location: \t 0000:01:00.0\nDevice Minor: \t " + strconv.Itoa(minor) + "\n"
		if err := os.WriteFile(info, []byte(text), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	device := filepath.Join(dir, "nvidia3")
	if err := os.WriteFile(device, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "1000")
	f, err := os.Open(device)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd.Stdin, cmd.ExtraFiles = f, []*os.File{f}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	pid := strconv.Itoa(cmd.Process.Pid)
	if err := os.Symlink("/proc/"+pid, filepath.Join(dir, "proc", pid)); err != nil {
		t.Fatal(err)
	}
	devices := func() []Device {
		return []Device{{Index: 0, UUID: "GPU-a", Healthy: true, Used: 9000 << 20}, {Index: 1, UUID: "GPU-b", Healthy: true, Used: 9000 << 20},
			{Index: 2, UUID: "GPU-a", Healthy: true, Used: 50 << 20}, {Index: 3, UUID: "GPU-a", Healthy: true, Used: 9000 << 20, Processes: []Process{{PID: os.Getpid()}}}}
	}
	list := devices()
	system{proc: filepath.Join(dir, "proc"), dev: dir}.addOpeners(list)
	if says := list[0].Zombie(500 << 20); !strings.Contains(says, "GPU 0 has 9000 MiB in use by no process that the driver names; its device is open in") || !strings.Contains(says, "(pid "+pid+"): sleep") {
		t.Errorf("it says %q", says)
	}
	for _, d := range list[1:] {
		if len(d.Openers) > 0 {
			t.Errorf("GPU %d is held by %v", d.Index, d.Openers)
		}
	}
	list = devices()
	system{proc: filepath.Join(dir, "proc"), dev: dir, young: time.Hour}.addOpeners(list)
	if len(list[0].Openers) > 0 {
		t.Errorf("a process that has just begun is a holder: %v", list[0].Openers)
	}
}
