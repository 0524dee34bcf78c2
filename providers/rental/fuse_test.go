package rental_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/providers/rental"
)

// TestBootFuse: a machine that muster never reached ends itself, and tries again until that
// works; one that muster reached does not. What an earlier start left counts for nothing.
func TestBootFuse(t *testing.T) {
	t.Parallel()
	for _, reached := range []bool{false, true} {
		home := t.TempDir()
		at := func(name string) string { return filepath.Join(home, name) }
		has := func(name string) bool { _, err := os.Stat(at(name)); return err == nil }
		touch := func(name string) {
			t.Helper()
			if err := os.WriteFile(at(name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, dir := range []string{"bin", ".muster-fuse"} {
			if err := os.Mkdir(at(dir), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		// The time that it waits for muster passes when the test says so.
		program.Write(t, at("bin/sleep"), `#!/bin/sh
echo "$1" >> "$HOME/slept"
[ "$1" != 1800 ] || until [ -e "$HOME/late" ]; do /bin/sleep 0.01; done
`)
		touch(".muster-fuse/met")
		// The first call fails; with the second the machine ends.
		stop := `echo >> "$HOME/calls"; [ -e "$HOME/twice" ] || { touch "$HOME/twice"; false; } && kill $$`
		cmd := exec.Command("sh", "-c", rental.BootFuse(stop)+" wait")
		cmd.Env = append(os.Environ(), "HOME="+home, "PATH="+at("bin")+":"+os.Getenv("PATH"))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "it to wait for muster", func() bool { return has("slept") && !has(".muster-fuse/met") })
		if reached {
			touch(".muster-fuse/met")
		}
		touch("late")
		if err := cmd.Wait(); err != nil {
			t.Logf("it ended: %v", err)
		}
		calls, _ := os.ReadFile(at("calls"))
		if n, want := strings.Count(string(calls), "\n"), map[bool]int{false: 2, true: 0}[reached]; n != want {
			t.Errorf("reached %v: asked %d times to be stopped, want %d", reached, n, want)
		}
	}
}
