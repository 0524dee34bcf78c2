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
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/internal/sshx/sshtest"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/hosttest"
	"github.com/muster-run/muster/providers/providertest"
)

// newOpenSSH is a test host whose server is OpenSSH's, at an address.
func newOpenSSH(t *testing.T, sshd, address string) *testHost {
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
	s.addr = net.JoinHostPort(address, port)
	conf := fmt.Sprintf("ListenAddress %s\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nMaxStartups 100\nSetEnv",
		s.addr, s.ours("host_key"), s.ours("authorized_keys"))
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
	line := knownhosts.Line([]string{knownhosts.Normalize(s.addr)}, hostKey.PublicKey()) + "\n"
	if err := os.WriteFile(s.ours("known_hosts"), []byte(line), 0o600); err != nil {
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

// openSSH is the program of OpenSSH's server.
func openSSH(t *testing.T) string {
	t.Helper()
	needs.System(t, "runs OpenSSH's server, as root")
	sshd := needs.Program(t, "/usr/sbin/sshd")
	if os.Getuid() != 0 {
		t.Fatal("OpenSSH's server wants root")
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // sshd's privilege separation
		t.Fatal(err)
	}
	return sshd
}

// TestSystemIPv6: an address of IPv6 is written bare, with a port of its own or the
// port of ssh's configuration.
func TestSystemIPv6(t *testing.T) {
	h := newOpenSSH(t, openSSH(t), "::1")
	_, port, _ := net.SplitHostPort(h.addr)
	alias := fmt.Sprintf("Host six\n  HostName ::1\n  Port %s\n", port)
	if err := os.WriteFile(h.ours("config"), append([]byte(alias), read(t, h.ours("config"))...), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]string{
		"address": fmt.Sprintf(`{"host":"::1","port":%s,"user":"root","install_dir":%q}`, port, shared),
		"user":    fmt.Sprintf(`{"host":"root@::1","port":%s,"install_dir":%q}`, port, shared),
		"alias":   fmt.Sprintf(`{"host":"six","user":"root","install_dir":%q}`, shared),
	} {
		t.Run(name, func(t *testing.T) {
			b := backendOn(t, h, shared)
			b.Config = []byte(c)
			if err := asked(t, provider(t, h), b); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSystemConformanceOpenSSH holds the provider to the suite over real sshd.
func TestSystemConformanceOpenSSH(t *testing.T) {
	sshd := openSSH(t)
	var at sync.Map // test → its host
	find := func(t *testing.T) *testHost {
		if h, ok := at.Load(t.Name()); ok {
			return h.(*testHost)
		}
		h := newOpenSSH(t, sshd, "127.0.0.1")
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
