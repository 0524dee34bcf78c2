//go:build cgo && linux

package gpu

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/providers/host/gpu/gputest"
)

// ownText is this test's own program, as one that serves NVML.
func ownText(t *testing.T, state string) (text []byte, set func(string)) {
	t.Helper()
	path, set := gputest.Library(t, state)
	t.Setenv(serving, path)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if text, err = os.ReadFile(self); err != nil {
		t.Fatal(err)
	}
	return text, set
}

// TestProgram holds that a static build gets the values of NVML.
func TestProgram(t *testing.T) {
	text, set := ownText(t, twoA100)
	r, err := openProgram(text)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	direct, err := OpenNVML(os.Getenv(serving))
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	for _, state := range []string{twoA100, twoA100 + "process 1 1 11000\n", twoA100 + "slice 0 MIG-1 20096 10\n", twoA100 + "lost 1\n", ""} {
		set(state)
		if diff := cmp.Diff(devices(t, direct), devices(t, r)); diff != "" {
			t.Errorf("%q (-in this process +in a program):\n%s", state, diff)
		}
	}

	// One that dies is an error, never a machine without GPUs, and is followed by another.
	set(twoA100)
	p := r.(*program)
	if err := p.now.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if list, err := r.Devices(t.Context()); err == nil {
		t.Errorf("a dead program says %+v", list)
	}
	if got := devices(t, r); len(got) != 2 {
		t.Errorf("the next says %+v", got)
	}
	pid := p.now.cmd.Process.Pid
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("closed, its program is still there: %v", err)
	}
}

// TestProgramSaysWhy tells what does not run from what does not answer.
func TestProgramSaysWhy(t *testing.T) {
	text, _ := ownText(t, "init 4\n") // NO_PERMISSION
	if _, err := openProgram(text); err == nil || errors.Is(err, errNoProgram) || errors.Is(err, errNoNVML) {
		t.Errorf("a driver that refuses is %v", err)
	}
	t.Setenv(serving, "/nonexistent/libnvidia-ml.so.1")
	if _, err := openProgram(text); !errors.Is(err, errNoNVML) {
		t.Errorf("no library is %v", err)
	}
	if _, err := openProgram([]byte("\x7fELF, but of another machine")); !errors.Is(err, errNoProgram) {
		t.Errorf("what cannot be run is %v", err)
	}
	t.Setenv(serving, "fail")
	if _, err := openProgram(text); !errors.Is(err, errNoProgram) || !strings.Contains(err.Error(), "GLIBC_9.9") {
		t.Errorf("what the loader refuses is %v", err)
	}
}

// TestProgramEndsWithItsParent holds that nothing stays behind a queue that is killed.
func TestProgramEndsWithItsParent(t *testing.T) {
	path, _ := gputest.Library(t, twoA100)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serving+"="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
}
