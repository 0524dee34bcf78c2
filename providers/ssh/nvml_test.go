package ssh

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/providers/host/gpu/gputest"
)

// TestSystemHostAsksNVML holds that the program that is put on hosts, which is
// static, asks NVML there, and nvidia-smi where NVML does not load.
func TestSystemHostAsksNVML(t *testing.T) {
	needs.System(t, "builds what is put on hosts, and runs OpenSSH's server")
	bin := t.TempDir()
	build := exec.Command("go", "run", "../../cmd/muster-host/pack", bin, runtime.GOARCH)
	if out, err := build.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("pack: %v\n%s", err, out)
	}
	me := strconv.Itoa(os.Getpid())
	library, _ := gputest.Library(t, "device 0 GPU-aaaa NVIDIA_A100-SXM4-40GB 40960 3\ndevice 1 GPU-bbbb NVIDIA_A100-SXM4-40GB 40960 12000\nprocess 1 "+me+" 11900\n")
	state := gputest.Env + "=" + os.Getenv(gputest.Env)
	for name, c := range map[string]struct {
		env  []string
		smi  bool
		want int
	}{
		"NVML":       {env: []string{"LD_LIBRARY_PATH=" + filepath.Dir(library), state}, want: 2},
		"nvidia-smi": {env: []string{state}, smi: true, want: 2},
		"neither":    {want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestHost(t)
			s.env = append(s.env, c.env...)
			if c.smi {
				smi, _ := gputest.SMI(t, "device 0 GPU-aaaa NVIDIA_A100-SXM4-40GB 40960 3\ndevice 1 GPU-bbbb NVIDIA_A100-SXM4-40GB 40960 12000\nprocess 1 "+me+" 11900\n")
				s.tool("nvidia-smi", "export "+gputest.Env+"="+os.Getenv(gputest.Env)+"; exec "+smi+` "$@"`)
			} else {
				s.tool("nvidia-smi", "echo NVML is to be asked >&2; exit 9")
			}
			p := NewWith(s.options())
			t.Cleanup(func() { _ = p.Close() })
			p.binaries.from = []fs.FS{os.DirFS(bin)}
			b := backendOn(t, s, filepath.Join(s.dir, "bin"))
			if err := p.Configure(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			pools, err := p.Pools(t.Context(), b.Name)
			if err != nil {
				t.Fatal(err)
			}
			notes := strings.Join(pools[0].Notes, "\n")
			if pools[0].GPUs != c.want || c.want > 0 && (pools[0].Idle != 1 || !strings.Contains(notes, "(pid "+me+")")) {
				t.Errorf("%d GPUs, want %d: %+v", pools[0].GPUs, c.want, pools[0])
			}
		})
	}
}
