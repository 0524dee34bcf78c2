//go:build linux && !race && (amd64 || arm64)

package ulimit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/needs"
)

// TestStatic: a program without cgo that starts at entry says in one line which
// limit is too low, also below what Go's runtime needs to start.
func TestStatic(t *testing.T) {
	needs.Program(t, "go")
	needs.Program(t, "bash")
	program := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-E github.com/muster-run/muster/internal/ulimit.entry", "-o", program, "./testdata/program")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const addresses, data = "muster: it needs 1500 MiB of memory, and the limit (ulimit -v) is ", "muster: it needs 256 MiB of memory, and the limit (ulimit -d) is "
	for limit, want := range map[string]string{
		"ulimit -v 300000":                      addresses,
		"ulimit -v 700000":                      addresses,
		"ulimit -v 1300000":                     addresses,
		"ulimit -v 1535999":                     addresses,
		"ulimit -d 60000":                       data,
		"ulimit -d 262143":                      data,
		"ulimit -v 1536000 && ulimit -d 262144": "runs",
		"ulimit -v unlimited":                   "runs",
	} {
		for range 5 { // what is too little for the runtime differs from start to start
			said, ok := under(t, program, limit, 0)
			if ok != (want == "runs") || !strings.HasPrefix(said, want) || strings.Count(said, "\n") != 1 {
				t.Errorf("%s: %v\n%s", limit, ok, said)
			}
		}
	}
}
