//go:build linux && !race

package ulimit

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-run/muster/internal/needs"
)

// TestMain lets the test binary be the program that limits keep from starting.
func TestMain(m *testing.M) {
	if os.Getenv("ULIMIT_TEST") == "" {
		os.Exit(m.Run())
	}
	if err := Check(); err != nil {
		fmt.Fprintln(os.Stderr, "muster:", err)
		os.Exit(1)
	}
	fmt.Println("runs")
}

// under runs the test binary below limits, as another user where uid is not 0.
func under(t *testing.T, program, limits string, uid uint32) (said string, ok bool) {
	t.Helper()
	cmd := exec.Command("/bin/bash", "-c", limits+` && exec "$0"`, program)
	cmd.Dir, cmd.Env = "/", []string{"ULIMIT_TEST=1"}
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func TestMemory(t *testing.T) {
	needs.Program(t, "bash") // dash has no ulimit -u
	for limit, want := range map[string]string{
		"ulimit -v 1500000":                            "muster: it needs 1500 MiB of memory, and the limit (ulimit -v) is 1500000 KiB. Raise the limit, or remove it: ulimit -v unlimited\n",
		"ulimit -d 250000":                             "muster: it needs 256 MiB of memory, and the limit (ulimit -d) is 250000 KiB. Raise the limit, or remove it: ulimit -d unlimited\n",
		"ulimit -v 2000000 && ulimit -d 1000000":       "runs\n",
		"ulimit -v unlimited":                          "runs\n",
		"ulimit -S -v 1000000 && ulimit -S -v 2000000": "runs\n",
	} {
		if said, ok := under(t, os.Args[0], limit, 0); said != want || ok != (want == "runs\n") {
			t.Errorf("%s: %v\n%s", limit, ok, said)
		}
	}
}

// Of a user whom nobody else is, so that only what is tried counts.
func TestSystemThreads(t *testing.T) {
	needs.System(t, "it becomes another user")
	if os.Getuid() != 0 {
		needs.Absent(t, "this test needs root")
	}
	dir, err := os.MkdirTemp("", "ulimit")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "program")
	copyProgram(t, program)
	os.Chmod(dir, 0o755)
	for limit, runs := range map[string]bool{"ulimit -u 10": false, "ulimit -u 15 -v 400000": false, "ulimit -u 100": true} {
		said, ok := under(t, program, limit, 54321)
		if ok != runs || strings.Count(said, "\n") != 1 || !runs && !strings.HasPrefix(said, "muster: it needs ") {
			t.Errorf("%s: %v\n%s", limit, ok, said)
		}
	}
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	from, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(f, from); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
