package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/needs"
)

// loginAs runs a shell script as if it were somebody's login shell. The script is in testdata:
// a file written by this process could still be open for writing in a child that another test
// is starting.
func loginAs(t *testing.T, script string, limit time.Duration) ([]string, error) {
	t.Helper()
	program, err := filepath.Abs("testdata/shell")
	if err != nil {
		t.Fatal(err)
	}
	shell := filepath.Join(t.TempDir(), "shell")
	if err := os.WriteFile(shell+".rc", []byte(script+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, shell); err != nil {
		t.Fatal(err)
	}
	return login(shell, self(t), limit)
}

func TestLoginShells(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ script, want string }{
		{`export DATA=/data; eval "$2"`, "DATA=/data"},
		{`echo Welcome; printf 'no newline'; export DATA="two
lines"; eval "$2"`, "DATA=two\nlines"},
		{`head -c 6000000 /dev/zero; export DATA=x; eval "$2"`, "DATA=x"},
	} {
		lines, err := loginAs(t, c.script, time.Minute)
		if err != nil || !slices.Contains(lines, c.want) {
			t.Errorf("%s: %v; %q", c.script, err, lines)
		}
	}
}

func TestLoginShellsThatGoAstray(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		script, want string
		limit        time.Duration
	}{
		{"exit 3", "exit status 3", time.Minute},
		{"exec sleep 1000", "did not end", 50 * time.Millisecond},
		{"sleep 1000 & exec echo other", "did not run the command", time.Minute},
	} {
		if _, err := loginAs(t, c.script, c.limit); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.script, err)
		}
	}
}

// TestSystemRealShells asks the shells of this machine, with rc files of their own.
func TestSystemRealShells(t *testing.T) {
	for _, c := range []struct{ shell, file, text string }{
		{"/bin/bash", ".bash_profile", "echo hello; export DATA=/d\n"},
		{"/bin/sh", ".profile", "DATA=/d; export DATA\n"},
		{"/bin/dash", ".profile", "DATA=/d; export DATA\n"},
		{"/bin/zsh", ".zprofile", "export DATA=/d\n"},
		{"/usr/bin/fish", ".config/fish/config.fish", "set -x DATA /d\n"},
		{"/bin/tcsh", ".login", "setenv DATA /d\n"},
	} {
		t.Run(c.shell, func(t *testing.T) {
			needs.Program(t, c.shell)
			home := t.TempDir()
			file := filepath.Join(home, c.file)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			t.Setenv("HOME", home)
			lines, err := login(c.shell, self(t), time.Minute)
			if err != nil || !slices.Contains(lines, "DATA=/d") {
				t.Errorf("%v; %q", err, lines)
			}
		})
	}
}

func TestLoginEnvironSaysWhatWentWrong(t *testing.T) {
	t.Setenv("SHELL", "/bin/false")
	t.Setenv("SSH_CONNECTION", "1 2 3 4")
	environ, note := loginEnviron(self(t))
	if !strings.Contains(note, "/bin/false") || len(environ) == 0 {
		t.Errorf("%q, %v", note, environ)
	}
	for _, v := range environ {
		if v.Name == "SSH_CONNECTION" {
			t.Error("what belongs to a session is left in")
		}
	}
}
