package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/muster-run/muster/internal/atomicfile"
)

// GPUs gives the host n GPUs of 80 GiB, and an nvidia-smi whose figures follow the processes
// there: one with LAB_GPU_MIB and CUDA_VISIBLE_DEVICES in its environment uses that much on
// those devices.
func (h *Host) GPUs(n int) {
	h.t.Helper()
	h.program("nvidia-smi", "github.com/muster-run/muster/internal/lab/nvidia-smi")
	h.Exec("chmod u+s /usr/games/nvidia-smi") // like a driver, it sees all users' processes
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "gpu %s 81920 NVIDIA A100-SXM4-80GB\n", h.UUID(i))
	}
	h.write("gpus", b.String())
}

// UUID is that of the host's GPU with this index.
func (h *Host) UUID(index int) string {
	return fmt.Sprintf("GPU-%08x-0000-4000-8000-%012d", hash(h.dir+h.Name), index)
}

// Hold has another user's process hold memory of a GPU until the returned
// function ends it.
func (h *Host) Hold(index, mib int) (pid int, release func()) {
	h.t.Helper()
	out := h.Exec("setsid setpriv --reuid=bob --regid=bob --clear-groups sleep 100000 </dev/null >/dev/null 2>&1 & " +
		"until grep -qs sleep /proc/$!/comm; do sleep 0.02; done; echo $!") // it is his from then on
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		h.t.Fatalf("hold a GPU: %q", out)
	}
	h.append("gpus", fmt.Sprintf("process %d %d %d\n", index, pid, mib))
	return pid, func() { h.Exec(fmt.Sprintf("kill %d", pid)) }
}

// program builds a Go program for the host and puts it on PATH.
func (h *Host) program(name, pkg string) {
	h.t.Helper()
	cmd := exec.Command("go", "build", "-o", filepath.Join(h.dir, "hosts", h.Name, "bin", name), pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		h.t.Fatalf("build %s: %v\n%s", name, err, out)
	}
}

func (h *Host) write(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.dir, "hosts", h.Name, "bin", name)
	if err := atomicfile.Write(path, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h *Host) append(name, line string) {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, "hosts", h.Name, "bin", name))
	if err != nil {
		h.t.Fatal(err)
	}
	h.write(name, string(text)+line)
}
