package subprocess

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// gone waits until a process has ended; one that is not reaped has ended, too.
func gone(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(pid))
	if err != nil {
		t.Fatal(err)
	}
	for syscall.Kill(n, 0) == nil {
		state, _ := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(n)).Output()
		if strings.HasPrefix(string(state), "Z") {
			return
		}
		if t.Context().Err() != nil {
			t.Fatalf("process %d is still there", n)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestRun: a command ends with all of its processes, and its output is whole.
func TestRun(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "sleep 3600 & echo $!; exit 3")
	cmd.Stdout, cmd.Stderr = &out, &out
	var exit *exec.ExitError
	if err := Run(cmd); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("%v", err)
	}
	gone(t, out.String())

	var large, said bytes.Buffer
	cmd = exec.CommandContext(t.Context(), "/bin/sh", "-c", "head -c 3000000 /dev/zero; echo done >&2")
	cmd.Stdout, cmd.Stderr = &large, &said
	if err := Run(cmd); err != nil || large.Len() != 3000000 || said.String() != "done\n" {
		t.Errorf("%v, %d bytes, %q", err, large.Len(), said.String())
	}
}

// TestLeave: what a command leaves in the background with its output open lives on, and
// neither fails the command nor holds it up for long.
func TestLeave(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "sleep 3600 & echo $!")
	cmd.Stdout = &out
	if err := run(cmd, 100*time.Millisecond, false); err != nil {
		t.Errorf("%v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the process in the background: %v", err)
	}
}

// TestEnds: a command whose context ends ends with its children.
func TestEnds(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	out := &first{seen: stop}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "sleep 3600 & echo $!; sleep 3600")
	cmd.Stdout = out
	if err := Run(cmd); err == nil {
		t.Error("it ended well")
	}
	gone(t, out.text)
}

// first tells of the first write.
type first struct {
	text string
	seen func()
}

func (f *first) Write(b []byte) (int, error) {
	f.text += string(b)
	f.seen()
	return len(b), nil
}

// TestFull: a command that prints for ever to a writer that takes no more ends.
func TestFull(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "while echo more; do :; done")
	cmd.Stdout = &full{}
	if err := Run(cmd); t.Context().Err() != nil {
		t.Errorf("%v", err)
	}
}

// full has a ReadFrom that takes all.
type full struct{ bytes.Buffer }

func (*full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestNoProgram: a program that is not there is an error, and leaves nothing open.
func TestNoProgram(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cmd := exec.Command("/no/such/program")
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := Run(cmd); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("%v", err)
	}
}
