package sshx

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/internal/sshx/sshtest"
)

func newKey(t *testing.T) ssh.Signer {
	t.Helper()
	k, _ := sshtest.Key(t, "")
	return k
}

// serve starts a server with these host keys that lets these users' keys in.
func serve(t *testing.T, hostKeys []ssh.Signer, allowed ...ssh.PublicKey) *sshtest.Server {
	t.Helper()
	return sshtest.New(t, &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		for _, a := range allowed {
			if bytes.Equal(a.Marshal(), key.Marshal()) {
				return nil, nil
			}
		}
		return nil, fmt.Errorf("not allowed")
	}}, hostKeys...)
}

// A home is a user's home with a .ssh below.
type home struct {
	t   *testing.T
	dir string
}

func newHome(t *testing.T) home {
	t.Helper()
	needs.Program(t, "ssh") // which reads the configuration
	h := home{t, t.TempDir()}
	if err := os.Mkdir(h.path(""), 0o700); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h home) path(name string) string { return filepath.Join(h.dir, ".ssh", name) }

func (h home) write(name, text string) string {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(h.path(name)), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(h.path(name), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return h.path(name)
}

// key writes a new key pair and returns the public half.
func (h home) key(name, passphrase string) ssh.PublicKey {
	h.t.Helper()
	signer, private := sshtest.Key(h.t, passphrase)
	h.write(name, private)
	return signer.PublicKey()
}

func authorized(k ssh.PublicKey) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k)))
}

// options read this home alone, and wait little between dials.
func (h home) options() Options {
	return Options{Home: h.dir, Agent: "none", ConfigFile: h.path("config"), backoff: quick()}
}

func quick() *backoff {
	return &backoff{first: 1, long: 1, chance: func() float64 { return 0 }}
}
