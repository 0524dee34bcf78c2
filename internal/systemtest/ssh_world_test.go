package systemtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/lab"
	"github.com/muster-run/muster/internal/program"
)

// A remote is a world whose jobs run on lab hosts, in a folder of the test's
// own. There they write down what they do, in RECORD, one line in one write
// each.
type remote struct {
	*world
	host   *lab.Host // the first
	folder string    // on every host
}

const shortLimits = "ServerAliveInterval 1\nServerAliveCountMax 3\nConnectTimeout 3\n"

// newRemote makes a world whose ssh knows the hosts by name, and whose limits
// for a silent link are short. FOLDER and RECORD in the campaign are paths.
func newRemote(t *testing.T, hosts []*lab.Host, campaign string) *remote {
	t.Helper()
	name := strings.ToLower(strings.ReplaceAll(filepath.Base(t.Name()), " ", "-"))
	r := &remote{host: hosts[0], folder: "/home/alice/" + name}
	for _, h := range hosts {
		h.Exec("mkdir -m 755 " + r.folder + "; chown alice: " + r.folder)
	}
	w := newWorld(t, r.paths(campaign))
	r.world = w
	home := filepath.Join(filepath.Dir(w.dir), "home")
	if err := os.MkdirAll(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(hosts[0].Config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".ssh", "config"), append([]byte(shortLimits), config...), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("SSH_AUTH_SOCK", "")
	return r
}

// patient takes the short limits away, for a test in which no link is to be lost:
// on a machine that has much to do a host may be mute for so long.
func (r *remote) patient() {
	r.t.Helper()
	file := filepath.Join(os.Getenv("HOME"), ".ssh", "config")
	config, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.TrimPrefix(string(config), shortLimits)), 0o600)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *remote) paths(s string) string {
	return strings.NewReplacer("RECORD", r.folder+"/record", "FOLDER", r.folder).Replace(s)
}

// in is the same world for a subtest.
func (w *world) in(t *testing.T) *world {
	sub := *w
	sub.t = t
	return &sub
}

// put writes an executable file into the test's folder on the host.
func (r *remote) put(name, text string) {
	r.t.Helper()
	path := r.host.Path(r.folder + "/" + name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	program.Write(r.t, path, r.paths(text))
	r.host.Exec("chown -R alice: " + r.folder)
}

// lines are the record.
func (r *remote) lines() []string {
	r.t.Helper()
	text, err := os.ReadFile(r.host.Path(r.folder + "/record"))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	return strings.FieldsFunc(string(text), func(c rune) bool { return c == '\n' })
}

// A follower is a muster that runs beside the test, its words in a file.
type follower struct {
	*exec.Cmd
	t    *testing.T
	file string
}

func (w *world) follow(args ...string) *follower {
	w.t.Helper()
	out, err := os.CreateTemp(filepath.Dir(w.dir), "said-")
	if err != nil {
		w.t.Fatal(err)
	}
	defer out.Close()
	f := &follower{Cmd: w.command(args...), t: w.t, file: out.Name()}
	f.Stdout, f.Stderr = out, out
	if err := f.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("muster %s printed:\n%s", strings.Join(args, " "), f.text())
		}
	})
	return f
}

// said is its output so far, without the line breaks of a screen.
func (f *follower) said() string {
	f.t.Helper()
	return flat(f.text())
}

// text is its output so far.
func (f *follower) text() string {
	f.t.Helper()
	text, err := os.ReadFile(f.file)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(text)
}

func (f *follower) end() (string, int) {
	err := f.Wait()
	return f.said(), exitCode(err)
}
