package kernel

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestChild: one process from its start until nobody knows it any more.
func TestChild(t *testing.T) {
	began := Uptime()
	pid, fd, err := Fork("/bin/sleep", []string{"sleep", "60"}, &syscall.ProcAttr{Env: []string{"OF=the child"}, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Look(pid)
	if err != nil || p.Start == 0 || p.Ended() || p.Session != pid {
		t.Errorf("%+v, %v", p, err)
	}
	if !slices.Contains(Processes(), pid) || !slices.Contains(Processes(), os.Getpid()) {
		t.Error("it is not in the list of processes")
	}
	if args := Arguments(pid); !slices.Equal(args, []string{"sleep", "60"}) {
		t.Errorf("its arguments are %q", args)
	}
	if environ := string(Environ(pid)); runtime.GOOS == "linux" && environ != "OF=the child\x00" {
		t.Errorf("its environment is %q", environ)
	}
	gone := make(chan bool)
	go func() {
		AwaitFork(pid, fd)
		gone <- Await(pid, func() bool { return false })
	}()
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-gone
	AwaitChild(pid)
	if p, err := Look(pid); err != nil || !p.Ended() {
		t.Errorf("not waited for: %+v, %v", p, err)
	}
	if _, err := unix.Wait4(pid, nil, 0, nil); err != nil {
		t.Fatal(err)
	}
	if p, err := Look(pid); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("gone: %+v, %v", p, err)
	}
	if Uptime() <= began {
		t.Error("the time since boot does not go on")
	}
}

// TestAwait: the end of a process that is not a child of the one who waits.
func TestAwait(t *testing.T) {
	cmd := exec.Command("sh", "-c", "read x")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	asked := false
	go cmd.Wait()
	told := Await(cmd.Process.Pid, func() bool {
		if !asked {
			in.Close()
		}
		asked = true
		p, err := Look(cmd.Process.Pid)
		return err == nil && !p.Ended()
	})
	if !told || !asked {
		t.Errorf("told %v, asked %v", told, asked)
	}
}

func TestRename(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, f := range []string{a, b} {
		if err := os.WriteFile(f, []byte(f), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Rename(a, b); !errors.Is(err, unix.EEXIST) {
		t.Errorf("over another file: %v", err)
	}
	if err := Rename(a, filepath.Join(dir, "c")); err != nil {
		t.Error(err)
	}
}

// TestMachine: nothing that a system tells is empty, and what it does not tell is
// said: on Linux there is none.
func TestMachine(t *testing.T) {
	if Boot() == "" || Space() == "" || Memory() == 0 {
		t.Errorf("boot %q, space %q, memory %d", Boot(), Space(), Memory())
	}
	if at := Booted(); time.Since(at) < time.Second || time.Since(at) < Uptime()/2 {
		t.Errorf("booted at %v, and up for %v", at, Uptime())
	}
	if n := len(Lacks); (n == 0) != (runtime.GOOS == "linux") {
		t.Errorf("%s lacks\n%s", runtime.GOOS, strings.Join(Lacks, "\n"))
	}
}
