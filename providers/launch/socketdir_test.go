package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/kernel"
	"github.com/muster-run/muster/internal/needs"
)

func TestSystemPrivateFolder(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		make func(path string) error
		want string // of the error
	}{
		"not there":     {func(string) error { return nil }, ""},
		"ours":          {func(p string) error { return os.Mkdir(p, 0o700) }, ""},
		"open to all":   {func(p string) error { return os.Mkdir(p, 0o777) }, ""},
		"a file":        {func(p string) error { return os.WriteFile(p, nil, 0o600) }, "is not a folder"},
		"a link":        {func(p string) error { return os.Symlink("/tmp", p) }, "is not a folder"},
		"somebody else": {someoneElses, "belongs to another user"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "muster")
			if err := tt.make(path); err != nil {
				needs.Absent(t, err)
			}
			err := private(path)
			if tt.want != "" {
				wantError(t, err, "", tt.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("mode is %v (%v)", info.Mode(), err)
			}
		})
	}
}

func someoneElses(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	return os.Chown(path, 12345, -1) // only root can
}

func TestSweepTakesOnlyTheDead(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{ // name → stays
		socketPrefix() + kernel.Identify(os.Getpid()).String():                true,
		socketPrefix() + kernel.ID{PID: os.Getpid(), Start: 1}.String():       false, // the pid was given again
		socketPrefix() + kernel.ID{PID: dead.Process.Pid, Start: 77}.String(): false,
		"pother-" + kernel.ID{PID: dead.Process.Pid, Start: 77}.String():      true, // another pid namespace
		"something-else": true,
		strings.TrimSuffix(socketPrefix(), "-") + "x-not-a-process": true,
	}
	for name := range names {
		if err := os.MkdirAll(filepath.Join(base, name, "plugin-dir1"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	sweep(base)
	for name, stays := range names {
		if _, err := os.Stat(filepath.Join(base, name)); (err == nil) != stays {
			t.Errorf("%s: there is %v, want %v", name, err == nil, stays)
		}
	}
}

func TestSocketPathsFit(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("x", longestBase) + "/" + "p" + "zzzzzzz-" + kernel.ID{PID: 4194304, Start: 1 << 40}.String() + "/plugin-dir4294967295/plugin4294967295"
	if len(longest) > 107 {
		t.Errorf("a socket path may have %d bytes", len(longest))
	}
}
