package ssh

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/providers"
)

// TestScriptsPassThroughAnyShell holds that what is sent as a command is one
// quoted word to sh, csh and fish alike.
func TestScriptsPassThroughAnyShell(t *testing.T) {
	// Requirement: SUB-18
	t.Parallel()
	for _, script := range []string{enterScript, putScript, checkScript} {
		if i := strings.IndexAny(script, "'\\!\n"); i >= 0 {
			t.Errorf("%q in %s", script[i], script)
		}
	}
}

// asked configures the provider and asks a host for its pools.
func asked(t *testing.T, s *SSH, b providers.Backend) error {
	t.Helper()
	if err := s.Configure(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	_, err := s.Pools(t.Context(), b.Name)
	return err
}

// wantFault wants an error of a class that says something.
func wantFault(t *testing.T, err error, class providers.ErrorClass, says ...string) {
	t.Helper()
	var e *providers.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v has no class, want %s", err, class)
	}
	if e.Class != class {
		t.Errorf("class is %s, want %s: %v", e.Class, class, err)
	}
	for _, text := range says {
		if !strings.Contains(e.Error()+" "+e.Hint, text) {
			t.Errorf("%v (%s) does not say %q", e, e.Hint, text)
		}
	}
}

// tool puts a program before all others on a host's PATH.
func (s *testHost) tool(name, script string) {
	s.t.Helper()
	dir := filepath.Join(s.dir, "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	program.Write(s.t, filepath.Join(dir, name), "#!/bin/sh\n"+script+"\n")
	s.env = append(s.env, "PATH="+dir+":"+os.Getenv("PATH"))
}

func TestHostsThatCannotRunIt(t *testing.T) {
	t.Parallel()
	for uname, says := range map[string]string{
		"Darwin arm64 23.1.0":      "runs Darwin",
		"Linux riscv64 6.1.0":      "is a riscv64",
		"Linux x86_64 2.6.32-754":  "needs 3.2 or later",
		"Linux x86_64 3.1-generic": "needs 3.2 or later",
	} {
		h := newTestHost(t)
		f := strings.Fields(uname)
		h.tool("uname", `case $1 in -s) echo `+f[0]+`;; -m) echo `+f[1]+`;; -r) echo `+f[2]+`;; esac`)
		wantFault(t, asked(t, provider(t, h), backendOn(t, h, t.TempDir())), providers.Invalid, says)
	}
}

func TestKernels(t *testing.T) {
	t.Parallel()
	for release, old := range map[string]bool{
		"2.6.32": true, "3.1.9-x": true, "3.2.0": false, "3.10.0-1160.el7.x86_64": false, "6.18-rc1": false, "4": false, "strange": false, "": false,
	} {
		if got := (&absent{release: release}).oldKernel(); got != old {
			t.Errorf("%q: %v", release, got)
		}
	}
}

func TestFoldersThatDoNotTakeIt(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	file := filepath.Join(h.dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	wantFault(t, asked(t, provider(t, h), backendOn(t, h, file+"/below")), providers.Invalid, "cannot be made", "install_dir")

	full := newTestHost(t)
	full.tool("gzip", `[ "$1" = -t ] || { echo "gzip: stdout: No space left on device" >&2; exit 1; }`)
	install := t.TempDir()
	wantFault(t, asked(t, provider(t, full), backendOn(t, full, install)), providers.Invalid, "cannot be written", "No space left", "install_dir")
	if left, err := os.ReadDir(install); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestProgramsThatDoNotRun: of a folder without exec permission the host says
// what is said here of a file that is no program.
func TestProgramsThatDoNotRun(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	s := NewWith(h.options())
	t.Cleanup(func() { _ = s.Close() })
	s.binaries.from = []fs.FS{fstest.MapFS{"muster-host-linux-" + runtime.GOARCH: {Data: []byte("#!/bin/sh\necho Permission denied >&2\nexit 126\n")}}}
	wantFault(t, asked(t, s, backendOn(t, h, t.TempDir())), providers.Invalid, "does not let programs in", "Permission denied", "install_dir")
}

func TestNoBinary(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	s := NewWith(h.options())
	t.Cleanup(func() { _ = s.Close() })
	s.binaries.from = []fs.FS{fstest.MapFS{}}
	wantFault(t, asked(t, s, backendOn(t, h, t.TempDir())), providers.Invalid, "make build", EnvBinaries)
}

// TestBareHost: nothing but a POSIX shell and its closest companions is needed.
func TestBareHost(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	bin := filepath.Join(h.dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sh", "uname", "mkdir", "rm", "chmod", "mv", "cat"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	h.env = append(h.env, "PATH="+bin)
	if err := asked(t, provider(t, h), backendOn(t, h, t.TempDir())); err != nil {
		t.Fatal(err)
	}
}

// TestReplacedProgram: a host that computes no digest starts no other program than
// muster's, though it is whole and answers.
func TestReplacedProgram(t *testing.T) {
	t.Parallel()
	for name, tools := range map[string][]string{
		"nothing computes a digest": nil, "sha256sum": {"sha256sum"}, "shasum": {"shasum"}, "openssl": {"openssl"},
	} {
		if testing.Short() && tools != nil {
			continue // each installs the program thrice, which the race detector makes ten times as long
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTestHost(t)
			bin := filepath.Join(h.dir, "bin")
			if err := os.Mkdir(bin, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, name := range append(tools, "sh", "uname", "mkdir", "rm", "chmod", "mv", "cat", "touch") {
				path := needs.Program(t, name)
				program.Write(t, filepath.Join(bin, name), "#!/bin/sh\nexec "+path+` "$@"`+"\n")
			}
			h.env = append(h.env, "PATH="+bin)
			install, ran := t.TempDir(), filepath.Join(h.dir, "ran")
			if err := asked(t, provider(t, h), backendOn(t, h, install)); err != nil {
				t.Fatal(err)
			}
			s := provider(t, h)
			path := filepath.Join(install, ownBinary(t, s).name())
			if err := os.Rename(path, path+".true"); err != nil {
				t.Fatal(err)
			}
			program.Write(t, path, "#!/bin/sh\n"+needs.Program(t, "touch")+" "+ran+"\nexec "+path+`.true "$@"`+"\n")
			if err := asked(t, s, backendOn(t, h, install)); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(ran); err == nil {
				t.Error("another program was started")
			}
			wantProgram(t, path)
		})
	}
}

// ownBinary is the program that a provider copies to hosts of this machine's kind.
func ownBinary(t *testing.T, s *SSH) *binary {
	t.Helper()
	b, err := s.binaries.of(runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wantProgram wants a whole program at a path.
func wantProgram(t *testing.T, path string) {
	t.Helper()
	if fi, err := os.Stat(path); err != nil || fi.Size() < 1<<20 {
		t.Errorf("%v, %v", fi, err)
	}
}

// TestDamagedProgram: a program that does not answer is checked, and copied again if it is
// damaged.
func TestDamagedProgram(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	install := t.TempDir()
	s := provider(t, h)
	path := filepath.Join(install, ownBinary(t, s).name())
	program.Write(t, path, "#!/bin/sh\necho half a program\n")
	if err := asked(t, s, backendOn(t, h, install)); err != nil {
		t.Fatal(err)
	}
	wantProgram(t, path)
}

// TestHostileFolder: a folder's name is a name, whatever it looks like.
func TestHostileFolder(t *testing.T) {
	if testing.Short() {
		t.Skip("copies the test's own program, which the race detector makes far larger; make test does")
	}
	t.Parallel()
	h := newTestHost(t)
	install := filepath.Join(t.TempDir(), "-n $(touch spoiled) `touch spoiled`; touch spoiled \"'\\ ü *")
	s := provider(t, h)
	text, err := os.ReadFile(self()) // a program that is itself in the folder, for clean removes itself
	if err != nil {
		t.Fatal(err)
	}
	s.binaries.found = packed(text).found
	b := backendOn(t, h, install)
	if err := asked(t, s, b); err != nil {
		t.Fatal(err)
	}
	found, err := os.ReadDir(install)
	if err != nil || len(found) != 1 {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "spoiled")); err == nil {
		t.Error("the folder's name was run")
	}
	removed, err := s.Clean(t.Context(), b.Name)
	if err != nil || !strings.Contains(strings.Join(removed, "\n"), install+"/") {
		t.Errorf("%q, %v", removed, err)
	}
	if left, _ := os.ReadDir(install); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := asked(t, s, b); err != nil { // and there again
		t.Error(err)
	}
}

// TestNoisyShell: a login shell that talks, and one that goes astray.
func TestNoisyShell(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.tool("noisy", `echo "Welcome"; printf "stty: not a terminal" >&2; printf "no newline"; exec /bin/sh "$@"`)
	h.shell = filepath.Join(h.dir, "bin", "noisy")
	if err := asked(t, provider(t, h), backendOn(t, h, t.TempDir())); err != nil {
		t.Error(err)
	}
	lost := newTestHost(t)
	lost.tool("lost", `echo "open terminal failed: not a terminal"; exit 1`)
	lost.shell = filepath.Join(lost.dir, "bin", "lost")
	wantFault(t, asked(t, provider(t, lost), backendOn(t, lost, t.TempDir())), providers.Unreachable, "open terminal failed", "~/.bashrc")
}

// TestTold: what was put where is told once.
func TestTold(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	s := provider(t, h)
	b := backendOn(t, h, t.TempDir())
	if err := asked(t, s, b); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	for range 2 {
		found, err := s.Preflight(t.Context(), b.Name, []providers.Check{{Workdir: b.Workdir}})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			said.WriteString(f.Detail)
		}
	}
	if strings.Count(said.String(), "put muster's program on") != 1 || !strings.Contains(said.String(), "/muster-host-") {
		t.Errorf("it said %q", said.String())
	}
}
