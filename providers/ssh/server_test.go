package ssh

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/muster-run/muster/internal/sshx"
	"github.com/muster-run/muster/internal/sshx/sshtest"
	"github.com/muster-run/muster/providers/host/hosttest"
)

// A testHost is an ssh server that runs commands with a shell in an environment
// of its own.
type testHost struct {
	*sshtest.Server
	t     *testing.T
	dir   string // short: sockets are below
	shell string
	env   []string
	addr  string // where it is reached
}

// newTestHost starts a host; its home and spool are its own.
func newTestHost(t *testing.T) *testHost {
	t.Helper()
	dir, err := os.MkdirTemp("", "mh")
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &testHost{t: t, dir: dir, shell: "/bin/sh"}
	s.env = []string{"HOME=" + dir, "USER=tester", "SHELL=/bin/sh", "PATH=" + os.Getenv("PATH"), "MUSTER_SPOOL=" + s.spool(), "MUSTER_QUEUE_IDLE=5s", beHost + "=1"}
	t.Cleanup(func() { hosttest.Kill(t, s.spool()) })
	signer, _ := sshtest.Key(t, "")
	s.Server = sshtest.New(t, &ssh.ServerConfig{NoClientAuth: true, PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil }}, signer)
	s.Command = func(line string) *exec.Cmd {
		cmd := exec.Command(s.shell, "-c", line)
		cmd.Env, cmd.Dir = s.env, s.dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return cmd
	}
	s.addr = s.Addr()
	s.writeHome(signer.PublicKey())
	return s
}

// writeHome makes this side's ~/.ssh, which knows the host and has a key.
func (s *testHost) writeHome(hostKey ssh.PublicKey) {
	s.t.Helper()
	_, private := sshtest.Key(s.t, "")
	files := map[string]string{
		"config":      fmt.Sprintf("Host *\n  IdentityFile %s\n  UserKnownHostsFile %s\n", s.ours("id"), s.ours("known_hosts")),
		"known_hosts": knownhosts.Line([]string{knownhosts.Normalize(s.addr)}, hostKey) + "\n",
		"id":          private,
	}
	if err := os.MkdirAll(s.ours(""), 0o700); err != nil {
		s.t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(s.ours(name), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *testHost) spool() string           { return filepath.Join(s.dir, "s") }
func (s *testHost) ours(name string) string { return filepath.Join(s.dir, "ssh", name) }

func (s *testHost) options() sshx.Options {
	return sshx.Options{Home: s.dir, Agent: "none", ConfigFile: s.ours("config")}
}
