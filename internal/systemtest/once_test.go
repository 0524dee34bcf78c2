package systemtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// jobs is a campaign of n independent jobs, each of which writes a line to
// the record, does what work says, and leaves a small output.
func jobs(n int, work string) string {
	return fmt.Sprintf(`
campaign "ops" {}
backend "local" "local" { cpus = 4 }
grid "g" { axes = { i = range(%d) } }
phase "p" {
  grid = grid.g
  job {
    command = "echo $MUSTER_ADDRESS >> RECORD; %s; echo ${cell.i} > ${output.x}"
    output "x" {
      path   = "out/${cell.i}"
      verify = "nonempty"
    }
    resources { walltime = "10m" }
  }
}
`, n, work)
}

// untilGo is the work of a job that is not over before the test says so, with
// w.write("go", ""): what it then sees does not hang on how busy the machine is.
const untilGo = "until [ -e go ]; do sleep 0.05; done"

// ranOnce holds that each of n jobs has started exactly once, and that there
// is nothing left to do.
func (w *world) ranOnce(n int) {
	w.t.Helper()
	b, _ := os.ReadFile(w.log)
	starts := map[string]int{}
	for _, line := range strings.Fields(string(b)) {
		starts[line]++
	}
	for address, k := range starts {
		if k != 1 {
			w.t.Errorf("%s ran %d times", address, k)
		}
	}
	if len(starts) != n {
		w.t.Errorf("%d jobs ran, want %d", len(starts), n)
	}
	if out, code := w.run("plan", "-detailed-exitcode"); code != 0 {
		w.t.Errorf("there is something left to do (exit %d):\n%s", code, out)
	}
}

// want runs muster and holds what it says and how it ends.
func (w *world) want(code int, text string, args ...string) {
	w.t.Helper()
	out, got := w.run(args...)
	if got != code || !strings.Contains(flat(out), text) {
		w.t.Fatalf("muster %s: exit %d, want %d and %q in:\n%s", strings.Join(args, " "), got, code, text, out)
	}
}

// flat is a text without the line breaks of a screen.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

// A driver is a muster that runs beside the test.
type driver struct {
	*exec.Cmd
	out bytes.Buffer
}

func (w *world) start(args ...string) *driver {
	w.t.Helper()
	d := &driver{Cmd: w.command(args...)}
	d.Stdout, d.Stderr = &d.out, &d.out
	d.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := d.Start(); err != nil {
		w.t.Fatal(err)
	}
	return d
}

func (d *driver) end() (string, int) {
	err := d.Wait()
	return flat(d.out.String()), exitCode(err)
}

// until waits for something that is going to happen.
func (w *world) until(what string, done func() bool) {
	w.t.Helper()
	for range 4800 {
		if done() {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	w.t.Fatalf("it never came: %s", what)
}

// started waits until n jobs have started.
func (w *world) started(n int) {
	w.t.Helper()
	w.until(fmt.Sprintf("%d starts", n), func() bool {
		b, _ := os.ReadFile(w.log)
		return bytes.Count(b, []byte("\n")) >= n
	})
}

// files are the names in the campaign's directory that match.
func (w *world) files(pattern string) []string {
	names, _ := filepath.Glob(filepath.Join(w.dir, pattern))
	return names
}

// small puts a small file system in a directory's place. It needs root.
func small(t *testing.T, dir, size string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+size); err != nil {
		t.Fatalf("mount a small tmpfs (system tests of full disks need root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
}

// grow makes room on it.
func grow(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "mode=0700,size=20m"); err != nil {
		t.Fatal(err)
	}
}
