package ssh

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/needs"
)

// TestSystemShells runs the scripts as hosts do whose sh is another one.
func TestSystemShells(t *testing.T) {
	t.Parallel()
	b, err := ourselves().of(runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	for _, shell := range [][]string{{"dash"}, {"bash", "--posix"}, {"busybox", "sh"}, {"mksh"}, {"yash"}, {"zsh", "--emulate", "sh"}} {
		t.Run(shell[0], func(t *testing.T) {
			t.Parallel()
			path := needs.Program(t, shell[0])
			home := t.TempDir()
			run := func(script, head string, body []byte) (string, int) {
				cmd := exec.Command(path, append(append([]string{}, shell[1:]...), "-c", script)...)
				cmd.Stdin = io.MultiReader(strings.NewReader(head), bytes.NewReader(body))
				cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME=", beHost+"=1")
				out, _ := cmd.CombinedOutput()
				return string(out), cmd.ProcessState.ExitCode()
			}
			if out, code := run(enterScript, "\nnone\nnone\n", nil); code != 44 || missing(strings.Split(strings.TrimSpace(out), "\n")) == nil {
				t.Errorf("enter: %d, %q", code, out)
			}
			want := filepath.Join(home, ".cache", "muster", "bin", b.name())
			head := func(folder, alone, digest string) string {
				return strings.Join([]string{folder, b.name(), "gz", strconv.Itoa(len(b.packed)), alone, digest, ""}, "\n")
			}
			half := len(b.packed) / 2
			part := filepath.Join(home, ".cache", "muster", "bin", "."+b.name()+".gz")
			if out, code := run(putScript, head("", "", b.digest), b.packed[:half]); code != 48 || !strings.Contains(out, haveMark+"0\n") {
				t.Errorf("put, cut short: %d, %q", code, out)
			}
			if fi, err := os.Stat(part); err != nil || fi.Size() != int64(half) {
				t.Errorf("of half a copy there is %v, %v", fi, err)
			}
			if out, code := run(putScript, head("", "", b.digest), b.packed[half:]); code != 0 || !strings.Contains(out, haveMark+strconv.Itoa(half)+"\n") || !strings.Contains(out, putMark+want) {
				t.Errorf("put the rest: %d, %q", code, out)
			}
			if out, code := run(checkScript, "\n"+b.name()+"\n"+b.digest+"\n", nil); code != 47 {
				t.Errorf("check of the whole: %d, %q", code, out)
			}
			other := filepath.Join(home, "other")
			if out, code := run(putScript, head("~/other", ".x", b.digest), b.packed[:half]); code != 48 {
				t.Errorf("put alone, cut short: %d, %q", code, out)
			}
			if out, code := run(putScript, head("~/other", "", strings.Repeat("0", 64)), b.packed); code != 43 {
				t.Errorf("put with another digest: %d, %q", code, out)
			}
			if err := os.WriteFile(filepath.Join(other, "."+b.name()+".gz"), []byte("strange"), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, code := run(putScript, head("~/other", "", b.digest), b.packed[7:]); code != 43 {
				t.Errorf("put after something else: %d, %q", code, out)
			}
			if left, _ := os.ReadDir(other); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestSystemUsersShells: whichever shell the user has, it hands the command on.
func TestSystemUsersShells(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bash", "zsh", "fish", "tcsh", "csh", "ksh"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTestHost(t)
			h.shell = needs.Program(t, name)
			if err := asked(t, provider(t, h), backendOn(t, h, shared)); err != nil {
				t.Error(err)
			}
		})
	}
}
