package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/providers"
)

var someHash = "sha256:" + strings.Repeat("ab", 32)

func TestLockComesBackAsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hashes := rapid.MapOfN(rapid.StringMatching(`[a-z0-9]{1,8}/[a-z0-9]{1,8}`), rapid.Just(someHash), 1, 4)
		want := &Lock{Providers: rapid.MapOf(rapid.StringMatching(`[a-z][a-z0-9_-]{0,20}`), rapid.Custom(func(t *rapid.T) Locked {
			return Locked{Version: rapid.StringOf(rapid.RuneFrom(nil, unicode.L, unicode.N, unicode.P, unicode.S)).Draw(t, "version"), Hashes: hashes.Draw(t, "hashes")}
		})).Draw(t, "providers")}
		got, err := parseLock(want.Bytes(), lockName)
		if err != nil {
			t.Fatalf("%v\n%s", err, want.Bytes())
		}
		if diff := cmp.Diff(normal(want), normal(got)); diff != "" {
			t.Fatalf("-written +read:\n%s", diff)
		}
	})
}

// normal undoes what HCL does to text: Unicode normalisation (cty.StringVal).
func normal(l *Lock) string { return string(l.Bytes()) }

func TestLockThatIsBroken(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		`provider "a" {`:                                     "line 1: muster did not write this: provider \"a\" {",
		"<<<<<<< HEAD\n":                                     "line 1: muster did not write this: <<<<<<< HEAD",
		`provider "a" { version = "1" }`:                     "hashes",
		"provider \"a\" {\n version = 1\n hashes = {}\n}":    "Version is not text",
		"provider \"a\" {\n version = \"1\"\n hashes = 3\n}": "Hashes are not a map",
		"provider \"a\" {\n version = \"1\"\n hashes = { \"linux/amd64\" = \"md5:1\" }\n}":                         "linux/amd64",
		"provider \"a\" {\n version = \"1\"\n hashes = {}\n}\nprovider \"a\" {\n version = \"1\"\n hashes = {}\n}": "locked twice",
		"backend \"a\" {}": "backend",
	} {
		t.Run(src, func(t *testing.T) {
			t.Parallel()
			_, err := parseLock([]byte(src), lockName)
			wantError(t, err, providers.Invalid, want, lockName, "version control")
		})
	}
}

func TestLockSet(t *testing.T) {
	t.Parallel()
	var l Lock
	steps := []struct {
		version, platform string
		changed           bool
		hashes            int
	}{
		{"1", "linux/amd64", true, 1},
		{"1", "linux/amd64", false, 1},
		{"1", "darwin/arm64", true, 2},
		{"2", "linux/amd64", true, 1}, // hashes of another version would be wrong
	}
	for _, s := range steps {
		if got := l.Set("a", s.version, s.platform, someHash); got != s.changed {
			t.Errorf("%s on %s: changed is %v", s.version, s.platform, got)
		}
		if got := len(l.Providers["a"].Hashes); got != s.hashes {
			t.Errorf("%s on %s: %d hashes, want %d", s.version, s.platform, got, s.hashes)
		}
	}
}

// external puts a script that serves a type where external providers are.
func external(t *testing.T, dir, typ, comment string) string {
	t.Helper()
	path := filepath.Join(dir, ".muster", "providers", NamePrefix+typ)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n# %s\nexec '%s' provider serve %s\n", comment, os.Args[0], typ)
	program.Write(t, path, script)
	return path
}

func TestExternalProviderMustBeLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := external(t, dir, "ext", "first")
	start := func(pin Pin) (*Launcher, error) {
		l := newLauncher(t, Options{Dir: dir, Pin: pin})
		_, err := l.Provider(t.Context(), "ext")
		return l, err
	}
	_, err := start(PinRequired)
	wantError(t, err, providers.Invalid, "is not locked", path, "muster init")

	l, err := start(PinRecord)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := l.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Write(l.LockPath()); err != nil {
		t.Fatal(err)
	}
	if _, err := start(PinRequired); err != nil {
		t.Fatal(err)
	}

	external(t, dir, "ext", "replaced")
	_, err = start(PinRequired)
	wantError(t, err, providers.Invalid, "is not the program that was locked", "muster init -upgrade")
	l, err = start(PinRecord)
	wantError(t, err, providers.Invalid, "is not the program that was locked", "muster init -upgrade")
	if pids := l.PIDs(); len(pids) != 0 {
		t.Errorf("a program that was not locked was run: %v", pids)
	}
	if l, err = start(PinUpgrade); err != nil {
		t.Fatal(err)
	}
	if lock, err = l.Lock(); err != nil {
		t.Fatal(err)
	}

	hash, err := hashFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lock.Providers["ext"].Hashes[Platform()] = hash
	wrong := lock.Providers["ext"]
	wrong.Version = "9.9.9"
	lock.Providers["ext"] = wrong
	if err := lock.Write(l.LockPath()); err != nil {
		t.Fatal(err)
	}
	_, err = start(PinRequired)
	wantError(t, err, providers.Invalid, "has version 1.2.3, but 9.9.9 is locked")
	delete(wrong.Hashes, Platform()) // locked elsewhere only
	wrong.Hashes["plan9/mips"] = hash
	if err := lock.Write(l.LockPath()); err != nil {
		t.Fatal(err)
	}
	_, err = start(PinRecord)
	wantError(t, err, providers.Invalid, "has version 1.2.3, but 9.9.9 is locked")

	if err := os.WriteFile(l.LockPath(), []byte("provider {"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = start(PinRequired)
	wantError(t, err, providers.Invalid, "The lock file cannot be read")
}

func TestSearchOrder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put := func(dir string) string {
		path := filepath.Join(root, dir, NamePrefix+"x")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		program.Write(t, path, "")
		return path
	}
	o := Options{
		Dir: filepath.Join(root, "campaign"), Environ: []string{
			"MUSTER_PLUGIN_DIR=" + root + "/plugins", "HOME=" + root + "/home", "PATH=relative:" + root + "/bin",
		},
	}
	l := newLauncher(t, o)
	for _, want := range []struct{ dir, source string }{
		{"bin", "PATH"}, {"home/.local/share/muster/providers", "data folder"}, {"campaign/.muster/providers", ".muster/providers"}, {"plugins", "MUSTER_PLUGIN_DIR"},
	} {
		path := put(want.dir)
		p, err := l.program.find("x")
		if err != nil || p.Path != path || p.Source != want.source || !p.Pinned {
			t.Errorf("found %+v (%v), want %s", p, err, path)
		}
		if d := l.Discover(); len(d) != 1 || d[0].Path != path {
			t.Errorf("discovered %+v, want %s", d, path)
		}
	}
	o.Builtin, o.Dev = []string{"x"}, nil
	if p, err := newPrograms(o).find("x"); err != nil || p.Source != "built-in" || p.Pinned {
		t.Errorf("found %+v (%v), want the built-in one", p, err)
	}
	o.Dev = map[string]string{"x": "/dev/x"}
	if p, err := newPrograms(o).find("x"); err != nil || p.Source != "dev" {
		t.Errorf("found %+v (%v), want the one under development", p, err)
	}
}

func FuzzParseLock(f *testing.F) {
	f.Add([]byte(`provider "a" { version = "1" }`))
	f.Add((&Lock{Providers: map[string]Locked{"a": {Version: "1", Hashes: map[string]string{"linux/amd64": someHash}}}}).Bytes())
	f.Fuzz(func(t *testing.T, src []byte) {
		lock, err := parseLock(src, lockName)
		if err != nil {
			return
		}
		if _, err := parseLock(lock.Bytes(), lockName); err != nil {
			t.Fatalf("what was read cannot be read again: %v\n%s", err, lock.Bytes())
		}
	})
}
