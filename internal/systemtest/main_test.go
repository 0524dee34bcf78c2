// Package systemtest tries to break muster's guarantees with the real binary:
// processes killed at random instants, disks that fill up, files that are cut
// or flipped. `make test` skips it with a reason; `make test-system` sets
// MUSTER_SYSTEM_TESTS=1, and then what is absent is a failure.
package systemtest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/internal/program"
)

// withOwnHome runs the tests with an empty home: jobs with a setup run in login
// shells, and the login files of whoever tests may take seconds for each, or write.
// What Go keeps in a home, for tests that build, stays where it is.
func withOwnHome(run func() int) int {
	home, err := os.MkdirTemp("", "muster-home-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(home)
	for _, name := range []string{"GOPATH", "GOMODCACHE", "GOCACHE", "GOENV"} {
		if out, err := exec.Command("go", "env", name).Output(); err == nil && os.Getenv("MUSTER_SYSTEM_TESTS") != "" {
			os.Setenv(name, strings.TrimSpace(string(out)))
		}
	}
	os.Setenv("HOME", home)
	return run()
}

// A world is one copy of the binary, one spool, one campaign directory: what
// belongs to it can be told from everything else on the machine.
type world struct {
	t               *testing.T
	bin, dir, spool string
	log             string // where jobs write down that they started and ended
}

func newWorld(t *testing.T, campaign string) *world {
	t.Helper()
	needs.System(t, "kills processes and takes minutes")
	src := os.Getenv("MUSTER_BINARY")
	if src == "" {
		t.Fatal("MUSTER_BINARY must name the muster binary; make test-system sets it")
	}
	root := t.TempDir()
	w := &world{t: t, bin: filepath.Join(root, "muster"), dir: filepath.Join(root, "campaign"), spool: filepath.Join(root, "spool"), log: filepath.Join(root, "record")}
	program.Copy(t, src, w.bin)
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w.write("campaign.muster.hcl", strings.ReplaceAll(campaign, "RECORD", w.log))
	t.Cleanup(w.end)
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// command is muster with this world's spool.
func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(w.bin, args...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "MUSTER_SPOOL="+w.spool, "CI=true", "MUSTER_TRUST=1", "NO_COLOR=1", "XDG_RUNTIME_DIR=", "MUSTER_QUEUE_IDLE=500ms")
	return cmd
}

// run runs muster to its end and returns what it said and its exit code.
func (w *world) run(args ...string) (string, int) {
	w.t.Helper()
	var out bytes.Buffer
	cmd := w.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.ProcessState == nil {
		w.t.Fatalf("muster %s: %v", strings.Join(args, " "), err)
	}
	return out.String(), exitCode(err)
}

// end stops whatever this world left running.
func (w *world) end() {
	for range 1500 {
		left := w.processes()
		if len(left) == 0 {
			return
		}
		for _, p := range left {
			syscall.Kill(p.pid, syscall.SIGKILL)
		}
		time.Sleep(20 * time.Millisecond)
	}
	w.t.Errorf("processes are left: %v", w.processes())
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}
