package trust

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
)

var now = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

// user is an environment of a user of the test's own, and the user's store.
func user(t *testing.T) (getenv func(string) string, dir string) {
	home := t.TempDir()
	return func(name string) string { return map[string]string{"HOME": home}[name] }, filepath.Join(home, ".local/state/muster/trust")
}

func ssh(config string) providers.Backend {
	return providers.Backend{Name: "ssh.lab", Type: "ssh", Config: []byte(config)}
}

// TestStore: what is trusted is trusted by the next command, by content, from
// files of this user alone; whatever is wrong with them, nothing else is.
func TestStore(t *testing.T) {
	t.Parallel()
	getenv, dir := user(t)
	g := New(t.TempDir(), getenv)
	b := ssh(`{"host":"h","user":"ada","cpus":4}`)
	if g.Reach(b) == nil || len(g.Left()) != 1 || Summary(g.Left()) != "1 host" {
		t.Fatalf("trusted from the start: %+v", g.Left())
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("looking makes a store")
	}
	if err := g.Trust(g.Left(), now); err != nil || g.Reach(b) != nil || len(g.Left()) > 0 {
		t.Fatalf("a yes is none: %v, %+v", err, g.Left())
	}
	next := func() *Guard { return New(t.TempDir(), getenv) }
	if err := next().Reach(ssh(`{"user":"ada", "host":"h","cpus":8}`)); err != nil {
		t.Errorf("forgotten, or another one for its cores: %v", err)
	}
	for _, config := range []string{`{"host":"h2","user":"ada"}`, `{"host":"h","user":"eve"}`, `{"host":"h","user":"ada","identity_file":"k"}`, `{"host":"h","user":"ada","install_dir":"/x"}`, `not json`} {
		if next().Reach(ssh(config)) == nil {
			t.Errorf("%s is trusted, too", config)
		}
	}
	other := b
	other.ProfileSource = "x"
	if next().Reach(other) == nil {
		t.Error("a profile is not looked at")
	}
	for _, name := range []string{"items.jsonl", "key"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", name, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "items.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	harm := func(what string, do func() error, trusted bool) {
		t.Helper()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		if got := next().Reach(b) == nil; got != trusted {
			t.Errorf("%s: trusted %t", what, got)
		}
	}
	path := filepath.Join(dir, "items.jsonl")
	harm("a line that was cut off", func() error { return os.WriteFile(path, append([]byte(`{"digest":"ab`+"\n"), text...), 0o600) }, true)
	harm("the line cut off", func() error { return os.WriteFile(path, text[:40], 0o600) }, false)
	harm("a file that others can write", func() error { return os.Chmod(path, 0o666) }, false)
	if next().Problem() == nil {
		t.Error("and nothing is said of it")
	}
	harm("a link", func() error { os.Remove(path); return os.Symlink("/dev/null", path) }, false)
	harm("another key", func() error {
		os.Remove(path)
		return os.WriteFile(filepath.Join(dir, "key"), []byte(strings.Repeat("k", keySize)), 0o600)
	}, false)
	harm("no store", func() error { return os.RemoveAll(dir) }, false)
	nowhere := New(t.TempDir(), func(string) string { return "" })
	if nowhere.Reach(b) == nil || nowhere.Trust(nowhere.Left(), now) == nil || nowhere.Reach(b) != nil {
		t.Error("without a home, a yes holds for the command, and is told not to be kept")
	}
	all := New(t.TempDir(), func(name string) string { return map[string]string{Env: "1"}[name] })
	if all.Reach(b) != nil || len(all.Left()) > 0 {
		t.Error("MUSTER_TRUST=1 allows not all")
	}
}

// TestSetupIsItsFiles: a setup is its text, the variables that steer it, and on this
// machine the files of the checkout that it names, and those that these name.
func TestSetupIsItsFiles(t *testing.T) {
	t.Parallel()
	getenv, _ := user(t)
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("env.sh", ". ./more.sh")
	write("more.sh", "true")
	write("results.csv", "1")
	b := providers.Backend{Name: "local.local", Type: "local", Dir: dir, Env: map[string]string{"A": "1"}}
	c := providers.Check{Workdir: dir, Setup: []string{". ./env.sh"}, Env: []providers.EnvVar{{Name: "SEED", Value: "1"}}}
	g := New(dir, getenv)
	if len(g.Checks(b, []providers.Check{c})[0].Setup) > 0 || len(c.Setup) == 0 {
		t.Fatal("runs")
	}
	if err := g.Trust(g.Left(), now); err != nil {
		t.Fatal(err)
	}
	runs := func(what string, b providers.Backend, c providers.Check, want bool) {
		t.Helper()
		if got := len(New(dir, getenv).Checks(b, []providers.Check{c})[0].Setup) > 0; got != want {
			t.Errorf("%s: runs %t", what, got)
		}
	}
	runs("the same", b, c, true)
	seed := c
	seed.Env = []providers.EnvVar{{Name: "SEED", Value: "2"}}
	runs("another seed", b, seed, true)
	write("results.csv", "2")
	runs("another file", b, c, true)
	path := c
	path.Env = append([]providers.EnvVar{{Name: "LD_PRELOAD", Value: "x.so"}}, c.Env...)
	runs("a library", b, path, false)
	env := b
	env.Env = map[string]string{"A": "2"}
	runs("the backend's environment", env, c, false)
	text := c
	text.Setup = []string{". ./env.sh; true"}
	runs("another text", b, text, false)
	write("more.sh", "evil")
	runs("a file that a file names", b, c, false)
	write("more.sh", "true")
	runs("as it was", b, c, true)
	r := providers.VerifyRequest{Workdir: dir, Open: true, Outputs: []providers.Output{{Name: "x", Path: "x", Verify: []providers.VerifyCheck{{Kind: "command", Command: "./env.sh"}, {Kind: "json"}}}}}
	if got, err := g.Verify(b, r); err != nil || len(got.Outputs[0].Verify) != 1 || len(r.Outputs[0].Verify) != 2 {
		t.Errorf("a command of verify: %+v, %v", got, err)
	}
	for _, at := range []string{"/etc", "..", "/proc/self"} {
		r.Outputs[0].Path = filepath.Join(at, "environ")
		if _, err := g.Verify(b, r); !providers.IsWithheld(err) {
			t.Errorf("a result in %s: %v", at, err)
		}
	}
}

// TestAtOnce: two commands that trust at the same time both are remembered.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	getenv, _ := user(t)
	var wg sync.WaitGroup
	host := func(i int) providers.Backend { return ssh(`{"host":"h` + strings.Repeat("x", i) + `"}`) }
	for i := range 32 {
		wg.Go(func() {
			g := New(t.TempDir(), getenv)
			_ = g.Reach(host(i))
			if err := g.Trust(g.Left(), now); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	g := New(t.TempDir(), getenv)
	for i := range 32 {
		if err := g.Reach(host(i)); err != nil {
			t.Errorf("host %d is forgotten", i)
		}
	}
}

// TestText: what is shown of an item is one line, without escapes or secrets.
func TestText(t *testing.T) {
	t.Parallel()
	getenv, _ := user(t)
	g := New(t.TempDir(), getenv)
	g.Hide = strings.NewReplacer("hunter2", "(sensitive)").Replace
	g.Checks(providers.Backend{Name: "ssh.\x1b[2J", Type: "ssh"}, []providers.Check{{Setup: []string{"export T=hunter2\n\x1b]0;x\x07" + strings.Repeat("y", 1000)}}})
	_ = g.Reach(ssh(`{"host":"a\u001b[31m\nb"}`))
	if text := List(g.Left()); strings.ContainsAny(text, "\x1b\x07") || strings.Contains(text, "hunter2") || strings.Count(text, "\n") != 2 || len(text) > 600 {
		t.Errorf("%q", text)
	}
}

// TestCheckout: the work tree of git is the checkout, but no home that is kept in git.
func TestCheckout(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, "work", "campaign")
	for _, d := range []string{filepath.Join(home, ".git"), dir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got := Checkout(dir, home); got != dir {
		t.Errorf("a home in git: %s", got)
	}
	if err := os.Mkdir(filepath.Join(home, "work", ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := Checkout(dir, home); got != filepath.Dir(dir) {
		t.Errorf("a work tree: %s", got)
	}
}
