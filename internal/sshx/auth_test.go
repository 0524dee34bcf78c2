package sshx

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/muster-run/muster/internal/sshx/sshtest"
)

// runAgent is an ssh agent that holds keys.
func runAgent(t *testing.T, keys ...any) string {
	t.Helper()
	return answerAsAgent(t, func(c net.Conn) { agent.ServeAgent(keyring(t, keys...), c) })
}

func keyring(t *testing.T, keys ...any) agent.Agent {
	t.Helper()
	ring := agent.NewKeyring()
	for _, k := range keys {
		if err := ring.Add(agent.AddedKey{PrivateKey: k}); err != nil {
			t.Error(err)
		}
	}
	return ring
}

// answerAsAgent listens where an agent does.
func answerAsAgent(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answer(c)
		}
	}()
	return l.Addr().String()
}

// locked is a home whose key has a passphrase, and the key unlocked.
func locked(t *testing.T) (home, ssh.PublicKey, any) {
	t.Helper()
	h := newHome(t)
	pub := h.key("id_ed25519", "secret words")
	text, err := os.ReadFile(h.path("id_ed25519"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := ssh.ParseRawPrivateKeyWithPassphrase(text, []byte("secret words"))
	if err != nil {
		t.Fatal(err)
	}
	return h, pub, raw
}

// knows points a home at a server as "box".
func (h home) knows(s *sshtest.Server, hostKey ssh.PublicKey, more string) {
	h.t.Helper()
	h.write("config", more+boxConfig(s))
	h.write("known_hosts", knownLine(s, hostKey))
}

func TestALockedKeyComesFromTheAgent(t *testing.T) {
	h, pub, raw := locked(t)
	hostKey := newKey(t)
	s := serve(t, []ssh.Signer{hostKey}, pub)
	h.knows(s, hostKey.PublicKey(), "IdentitiesOnly yes\n")
	wantError(t, connect(t, h, Target{}), Auth, "does not let someone in", "locked with a passphrase", "ssh-add "+h.path("id_ed25519"))

	h.knows(s, hostKey.PublicKey(), "IdentitiesOnly yes\nIdentityAgent "+runAgent(t, raw)+"\n")
	if err := connect(t, h, Target{}); err != nil {
		t.Error(err)
	}
	// A public half alone names a key of the agent.
	h.write("named.pub", authorized(pub)+"\n")
	if err := os.Remove(h.path("id_ed25519")); err != nil {
		t.Fatal(err)
	}
	if err := connect(t, h, Target{IdentityFile: "~/.ssh/named.pub"}); err != nil {
		t.Error(err)
	}
	wantError(t, connect(t, h, Target{}), Auth, "no key could be shown", "ssh-add") // IdentitiesOnly: the agent's own are not shown
}

// TestNamedKeysAreShownFirst: servers take few tries, and an agent may be full.
func TestNamedKeysAreShownFirst(t *testing.T) {
	h, pub, raw := locked(t)
	hostKey := newKey(t)
	s := serve(t, []ssh.Signer{hostKey}, pub)
	s.Set(func(c *ssh.ServerConfig) { c.MaxAuthTries = 2 })
	var others []any
	for i := range 8 {
		name := fmt.Sprintf("other%d", i)
		h.key(name, "")
		text, _ := os.ReadFile(h.path(name))
		k, err := ssh.ParseRawPrivateKey(text)
		if err != nil {
			t.Fatal(err)
		}
		others = append(others, k)
	}
	h.knows(s, hostKey.PublicKey(), "IdentityFile ~/.ssh/id_ed25519\nIdentityAgent "+runAgent(t, append(others, raw)...)+"\n")
	if err := connect(t, h, Target{}); err != nil {
		t.Error(err)
	}
	h.knows(s, hostKey.PublicKey(), "IdentityFile ~/.ssh/none\nIdentityAgent "+runAgent(t, others...)+"\n")
	wantError(t, connect(t, h, Target{}), Auth, "it was shown")
}

func TestKeysThatCannotBeUsedAreTold(t *testing.T) {
	h, hostKey := newHome(t), newKey(t)
	s := serve(t, []ssh.Signer{hostKey})
	h.key("open", "")
	if err := os.Chmod(h.path("open"), 0o644); err != nil {
		t.Fatal(err)
	}
	h.write("broken", "not a key\n")
	h.knows(s, hostKey.PublicKey(), "IdentityFile ~/.ssh/open\nIdentityFile ~/.ssh/broken\nIdentityAgent /nowhere/agent\n")
	wantError(t, connect(t, h, Target{}), Auth, "chmod 600 "+h.path("open"), h.path("broken"), "the ssh agent does not answer", "no key could be shown")
	wantError(t, connect(t, h, Target{IdentityFile: "~/.ssh/absent"}), Config, "cannot read identity_file", "absent")

	s.Set(func(c *ssh.ServerConfig) {
		c.KeyboardInteractiveCallback = func(_ ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			_, err := ask("", "", []string{"Code: "}, []bool{false})
			return nil, err
		}
	})
	wantError(t, connect(t, h, Target{}), Auth, "box wants you to log in")
}

// A shy agent has one key that it does not sign with, as when its token is
// not plugged in.
type shy struct {
	agent.Agent
	not ssh.PublicKey
}

func (s shy) Sign(key ssh.PublicKey, data []byte) (*ssh.Signature, error) {
	if bytes.Equal(key.Marshal(), s.not.Marshal()) {
		return nil, errors.New("no")
	}
	return s.Agent.Sign(key, data)
}

// TestAKeyThatDoesNotSign: the server takes it, and the next is shown.
func TestAKeyThatDoesNotSign(t *testing.T) {
	h, pub, raw := locked(t)
	hostKey := newKey(t)
	s := serve(t, []ssh.Signer{hostKey}, pub)
	agent := answerAsAgent(t, func(c net.Conn) { agent.ServeAgent(shy{keyring(t, raw), pub}, c) })
	config := "IdentityFile ~/.ssh/id_ed25519\nIdentityFile ~/.ssh/other\nIdentityAgent " + agent + "\n"
	h.knows(s, hostKey.PublicKey(), config)
	other := h.key("other", "")
	wantError(t, connect(t, h, Target{}), Auth, "does not let someone in", "the server takes "+describe(pub)+", which did not sign", "a touch, or somebody to confirm; try: ssh box")

	s = serve(t, []ssh.Signer{hostKey}, pub, other)
	h.knows(s, hostKey.PublicKey(), config)
	if err := connect(t, h, Target{}); err != nil {
		t.Error(err)
	}
}

// TestAnAgentThatHangs is done without: the keys of files are shown.
func TestAnAgentThatHangs(t *testing.T) {
	h, hostKey := newHome(t), newKey(t)
	s := serve(t, []ssh.Signer{hostKey}, h.key("id_ed25519", ""))
	h.knows(s, hostKey.PublicKey(), "ConnectTimeout 1\nIdentityAgent "+answerAsAgent(t, func(net.Conn) {})+"\n")
	if err := connect(t, h, Target{}); err != nil {
		t.Error(err)
	}
}

// TestUserCertificates: the server knows the authority alone.
func TestUserCertificates(t *testing.T) {
	h, hostKey, authority := newHome(t), newKey(t), newKey(t)
	pub := h.key("id_ed25519", "")
	s := serve(t, []ssh.Signer{hostKey})
	checker := ssh.CertChecker{IsUserAuthority: func(k ssh.PublicKey) bool { return string(k.Marshal()) == string(authority.PublicKey().Marshal()) }}
	s.Set(func(c *ssh.ServerConfig) { c.PublicKeyCallback = checker.Authenticate })
	cert := &ssh.Certificate{Key: pub, CertType: ssh.UserCert, ValidPrincipals: []string{"someone"}, ValidBefore: ssh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, authority); err != nil {
		t.Fatal(err)
	}
	h.knows(s, hostKey.PublicKey(), "")
	wantError(t, connect(t, h, Target{}), Auth)
	h.write("id_ed25519-cert.pub", authorized(cert))
	if err := connect(t, h, Target{}); err != nil {
		t.Errorf("beside its key: %v", err)
	}
	if err := os.Rename(h.path("id_ed25519-cert.pub"), h.path("mine.pub")); err != nil {
		t.Fatal(err)
	}
	h.knows(s, hostKey.PublicKey(), "CertificateFile ~/.ssh/mine.pub\n")
	if err := connect(t, h, Target{}); err != nil {
		t.Errorf("CertificateFile: %v", err)
	}
}
