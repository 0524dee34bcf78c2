package ssh

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/internal/sshx/sshtest"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/hosttest"
	"github.com/muster-run/muster/providers/providertest"
)

// newOpenSSH is a test host whose server is OpenSSH's.
func newOpenSSH(t *testing.T, sshd string) *testHost {
	t.Helper()
	s := newTestHost(t)
	s.Stop() // the port is free now, and its own
	hostKey, private := sshtest.Key(t, "")
	user, err := ssh.ParsePrivateKey(read(t, s.ours("id")))
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	conf := fmt.Sprintf("ListenAddress 127.0.0.1:%s\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nMaxStartups 100\nSetEnv",
		port, s.ours("host_key"), s.ours("authorized_keys"))
	for _, v := range s.env {
		if !strings.HasPrefix(v, "PATH=") && !strings.HasPrefix(v, "USER=") {
			conf += " " + v
		}
	}
	for name, text := range map[string][]byte{"host_key": []byte(private), "authorized_keys": ssh.MarshalAuthorizedKey(user.PublicKey()), "sshd_config": []byte(conf + "\n")} {
		if err := os.WriteFile(s.ours(name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	known := read(t, s.ours("known_hosts"))
	address, _, _ := bytes.Cut(known, []byte(" "))
	line := append(append(address, ' '), ssh.MarshalAuthorizedKey(hostKey.PublicKey())...)
	if err := os.WriteFile(s.ours("known_hosts"), line, 0o600); err != nil {
		t.Fatal(err)
	}
	s.runSSHD(sshd)
	return s
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// runSSHD keeps a server until the test ends.
func (s *testHost) runSSHD(sshd string) {
	s.t.Helper()
	cmd := exec.Command(sshd, "-D", "-e", "-f", s.ours("sshd_config"))
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if s.t.Failed() {
			s.t.Logf("sshd said:\n%s", said.String())
		}
	})
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", s.addr)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("sshd does not listen: %v", err)
		}
	}
}

// TestSystemConformanceOpenSSH holds the provider to the suite over real sshd.
func TestSystemConformanceOpenSSH(t *testing.T) {
	needs.System(t, "runs OpenSSH's server, as root")
	sshd := needs.Program(t, "/usr/sbin/sshd")
	if os.Getuid() != 0 {
		t.Fatal("OpenSSH's server wants root")
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // sshd's privilege separation
		t.Fatal(err)
	}
	var at sync.Map // test → its host
	find := func(t *testing.T) *testHost {
		if h, ok := at.Load(t.Name()); ok {
			return h.(*testHost)
		}
		h := newOpenSSH(t, sshd)
		at.Store(t.Name(), h)
		return h
	}
	providertest.Run(t, providertest.Options{
		Backend: func(t *testing.T) providers.Backend {
			b := backendOn(t, find(t), shared)
			b.Config = bytes.Replace(b.Config, []byte(`"user":""`), []byte(`"user":"root"`), 1)
			return b
		},
		New: func(t *testing.T) providers.Provider { return provider(t, find(t)) },
		Restart: func(t *testing.T, p providers.Provider) providers.Provider {
			hosttest.Kill(t, find(t).spool())
			_ = p.(*SSH).Close()
			return provider(t, find(t))
		},
		Spool: func(t *testing.T, _ providers.Backend) []string { return []string{find(t).spool()} },
	})
}
