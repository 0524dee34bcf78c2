package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/program"
)

func TestKills(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{
		"":                         false,
		"KillUserProcesses=no\n":   false,
		"KillUserProcesses=yes\n":  true,
		"#KillUserProcesses=yes\n": false,
		"[Login]\nKillUserProcesses=yes\n\n[Login]\nKillUserProcesses=no\n": false,
		"KillUserProcesses=yes\nKillExcludeUsers=root ada\n":                false,
		"KillUserProcesses=1\nKillExcludeUsers=\n":                          true,
	} {
		if got := kills(said, "ada"); got != want {
			t.Errorf("%q: %t", said, got)
		}
	}
	if kills("KillUserProcesses=yes\n", "root") {
		t.Error("root is spared unless something else is said")
	}
}

// Preflight asks for what keeps jobs alive, where it is not set.
func TestLinger(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("XDG_SESSION_ID", "3")
	for linger, want := range map[string]bool{"no": true, "yes": false} {
		script := "#!/bin/sh\ncase $1 in\nshow-session) echo KillUserProcesses=yes; echo KillExcludeUsers= ;;\nshow-user) echo Linger=" + linger + " ;;\nesac\n"
		program.Write(t, filepath.Join(dir, "loginctl"), script)
		if why := killedAtLogout(); strings.Contains(why, "loginctl enable-linger") != want {
			t.Errorf("linger %s: %q", linger, why)
		}
	}
}
